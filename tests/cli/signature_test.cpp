#include <fmt/format.h>

#include "bench.h"

using namespace evo::testing;

namespace {

std::string last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  return text.substr(text.rfind('\n', end - 1) + 1, end - text.rfind('\n', end - 1) - 1);
}

/// "(NVRTC 13.0)"
std::string toolkit(const std::string& line) {
  return line.substr(line.find('('));
}

/// "6480-d91c": the parts that no compiler takes part in.
std::string recorded_parts(const std::string& line) {
  return line.substr(line.find(' ') - 9, 9);
}

}  // namespace

TEST_CASE("evo bench prints the signature of tests/data/signature.txt, and names a part that differs", "[long]") {
  std::string expected;
  std::getline(std::ifstream(EVO_TEST_DATA "/signature.txt"), expected);
  std::string other = expected.substr(0, expected.find(' '));
  other.back() = other.back() == '0' ? '1' : '0';
  const Outcome outcome = run_evo({"bench", "--expect", other});
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.out, fmt::format("changed: {} expected\n", other.substr(other.size() - 4))));
  const std::string now = last_line(outcome.out);
  INFO(
      "evo behaves otherwise than before. If it should, write this line into tests/data/signature.txt, and say why in "
      "the commit in a line `Signature: ...`. `evo bench --json` shows what each part gave.");
  if (toolkit(now) == toolkit(expected)) {
    CHECK(now == expected);
  } else {
    WARN("the signature holds for another toolkit: only the parts without a compiler are compared");
    CHECK(recorded_parts(now) == recorded_parts(expected));
  }
}

TEST_CASE("evo bench refuses what is no signature") {
  check_refused(run_evo({"bench", "--expect", "1234-5678"}), 2, {"--expect 1234-5678", "6 parts"});
}

#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> short_run(std::vector<std::string> more = {}) {
  std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1"};
  run.insert(run.end(), more.begin(), more.end());
  return run;
}

bool is_provisional(const Bench& bench) {
  return bench.json({"elites"})["elites"][0]["provisional"].get<bool>();
}

}  // namespace

TEST_CASE("the end of a search says what it waits for, how long at most, and that it may be interrupted") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(short_run(), kChecksElites);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("still to be checked (sanitiser, sizes"));
  CHECK_THAT(outcome.err, ContainsSubstring("), for at most 20 min 00 s; Ctrl-C leaves"));
  CHECK_FALSE(is_provisional(bench));
}

TEST_CASE("without time for checks elites stay provisional, the search says so, and verify makes the checks") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(short_run({"--check-time", "0"}));
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("elites stay provisional: --check-time 0; evo verify ID makes the checks "
                                            "of one"));
  CHECK(is_provisional(bench));
  CHECK(bench.evo({"verify", best_of(bench)}).code == 0);
  CHECK_FALSE(is_provisional(bench));
}

TEST_CASE("checks whose time is over are named, and how far they are") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(short_run({"--check-time", "1ms"}));
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("elites stay provisional: 0 s are over, the --check-time (candidate " +
                                            best_of(bench) + ": under the sanitiser"));
  CHECK(is_provisional(bench));
}

TEST_CASE("a resumed run makes the checks for which there was no time") {
  const ToyBench bench;
  REQUIRE(bench.evo(short_run()).code == 0);
  REQUIRE(is_provisional(bench));
  CHECK(bench.evo({"run", "--resume", "1"}, kChecksElites).code == 0);
  CHECK_FALSE(is_provisional(bench));
}

TEST_CASE("a --check-time that is no duration is refused") {
  check_refused(Bench().evo(short_run({"--check-time", "soon"})), 2, {"--check-time", "'soon'"});
}

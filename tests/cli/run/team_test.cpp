// The scripts of docs/team.md: hosts publish their databases, one host collects them.
#include <sys/wait.h>

#include <cstdlib>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// Runs a script of docs/examples in the bench's folder. Its output is in the file `said`.
int run_example(const Bench& bench, const std::string& name, const std::string& arguments) {
  const std::string tools = std::filesystem::path(EVO_BINARY).parent_path().string();
  const std::string line = "cd '" + bench.folder().string() + "' && PATH='" + tools +
                           "':\"$PATH\" sh '" EVO_SOURCE_DIR "/docs/examples/" + name + "' " + arguments +
                           " > said 2>&1";
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void search(const Bench& bench, const std::string& database, int seed) {
  REQUIRE(bench
              .evo({"run", "--task", "rms_norm", "--device", "vgpu", "--evals", "2", "--seed", std::to_string(seed),
                    "--quiet", "--db", database})
              .code == 0);
}

std::size_t runs_in(const Bench& bench, const std::string& database) {
  return bench.json({"runs", "--db", database})["runs"].size();
}

}  // namespace

TEST_CASE("what hosts publish comes together, once, and a damaged copy is left out", "[long]") {
  const Bench bench;
  search(bench, "a.db", 1);
  search(bench, "b.db", 2);
  std::filesystem::create_directory(bench / "shared");
  for (const char* host : {"a", "b"})
    REQUIRE(run_example(bench, "publish.sh", std::string("shared ") + host + ".db " + host) == 0);
  REQUIRE(run_example(bench, "collect.sh", "shared team.db") == 0);
  CHECK(runs_in(bench, "team.db") == 2);

  search(bench, "a.db", 3);
  REQUIRE(run_example(bench, "publish.sh", "shared a.db a") == 0);
  std::ofstream(bench / "shared/0.db") << "no database";
  CHECK(run_example(bench, "collect.sh", "shared team.db") == 1);
  CHECK(holds(bench.read("said"), "not merged: shared/0.db"));
  CHECK(runs_in(bench, "team.db") == 3);
  CHECK_FALSE(std::filesystem::exists(bench / "shared/.a.new"));
}

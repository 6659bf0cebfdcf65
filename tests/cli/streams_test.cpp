// Standard streams that are full or closed.

#include "bench.h"

using namespace evo::testing;

namespace {

std::vector<std::string> search(const std::string& database) {
  return {"run", "--task", "toy", "--device", "vgpu", "--evals", "12", "--seed", "1", "--db", database};
}

/// How the run ended, and what it found of each proposal.
nlohmann::json findings(const Bench& bench, const std::string& database) {
  const nlohmann::json run = bench.json({"runs", "1", "--db", database})["runs"][0];
  nlohmann::json found = {run["status"]};
  for (const auto& outcome : run["outcomes"]) found.push_back({outcome["verdict"], outcome["latency_us"]});
  return found;
}

}  // namespace

TEST_CASE("a search whose standard error is full or closed ends normally", "[long]") {
  const ToyBench bench;
  REQUIRE(bench.evo(search("open.db")).code == 0);
  const nlohmann::json wanted = findings(bench, "open.db");
  CHECK(wanted[0] == "finished");
  CHECK(bench.evo(search("full.db"), {.errors = "/dev/full"}).code == 0);
  CHECK(findings(bench, "full.db") == wanted);
  CHECK(bench.evo(search("closed.db"), {.closed = {2}}).code == 0);
  CHECK(findings(bench, "closed.db") == wanted);
}

TEST_CASE("a search without standard streams gives the same verdicts, and fails only when it prints its result") {
  const ToyBench bench;
  REQUIRE(bench.evo(search("open.db")).code == 0);
  CHECK(bench.evo(search("closed.db"), {.closed = {0, 1, 2}}).code == 3);
  CHECK(findings(bench, "closed.db") == findings(bench, "open.db"));
}

TEST_CASE("exit codes do not depend on whether standard error can be written") {
  const ToyBench bench;
  for (const ProcessOptions& options : {ProcessOptions{.errors = "/dev/full"}, ProcessOptions{.closed = {2}}}) {
    CHECK(bench.evo({"frobnicate"}, options).code == 2);
    CHECK(bench.evo({"elites"}, options).code == 2);
    CHECK(bench.evo({"space", "--task", "toy", "--device", "cuda:0"}, options).code == 3);
  }
}

TEST_CASE("output that cannot be written is reported in one line, whatever its length") {
  const ToyBench bench;
  REQUIRE(bench.evo(search("evo.db")).code == 0);
  const std::vector<std::vector<std::string>> commands = {
      {"tasks"}, {"export", "--db", "evo.db"}, {"show", "1", "--db", "evo.db", "--json"}, {"--help"}};
  for (const auto& command : commands) {
    INFO(command.front());
    check_refused(bench.evo(command, {.output = "/dev/full"}), 3,
                  {"cannot write to standard output: No space left on device\n"});
    check_refused(bench.evo(command, {.closed = {1}}), 3, {"cannot write to standard output: Bad file descriptor\n"});
  }
}

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a report tells what a run found, what its genes were worth, what failed, and what is open") {
  const Bench bench;
  write_toy_task(bench, true);
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "30", "--seed", "1", "--quiet"}).code == 0);
  const Outcome outcome = bench.evo({"report"});
  REQUIRE(outcome.code == 0);
  for (const char* part : {"run 1: toy on vgpu:h200", "best so far", "what the genes of plain were worth",
                           "what failed and why", "wrong_answer", "where the time went", "open questions"})
    CHECK_THAT(outcome.out, ContainsSubstring(part));

  const auto report = bench.json({"report", "1"});
  const auto outcomes = bench.json({"runs", "1"})["runs"][0]["outcomes"];
  // Each milestone is faster than the one before, and the last one is the run's best.
  double best = 1e9;
  for (const auto& one : report["milestones"]) {
    CHECK(one["latency_us"].get<double>() < best);
    best = one["latency_us"];
    CHECK(outcomes[one["evaluations"].get<std::size_t>() - 1]["candidate"] == one["candidate"]);
  }
  CHECK(best == report["run"]["best_us"].get<double>());
  const auto& phases = report["phases"];
  CHECK(phases["compile_s"].get<double>() > 0);
  CHECK(phases["validation_s"].get<double>() > 0);
  CHECK(phases["timing_s"].get<double>() > 0);
  CHECK(phases["validation_s"].get<double>() <= phases["run_s"].get<double>() + 1);
  // Half of the genomes are wrong, all by one gene.
  for (const auto& gene : report["families"][0]["genes"]) {
    if (gene["gene"] != "wrong") continue;
    CHECK(gene["alleles"][0]["valid"].get<int>() > 0);
    CHECK(gene["alleles"][1]["tried"].get<int>() > 0);
    CHECK(gene["alleles"][1]["valid"] == 0);
  }
}

TEST_CASE("a run that --until ends says so, and its limit is a latency with a unit") {
  const ToyBench bench;
  const auto run = bench.json(
      {"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed", "1", "--until", "1s", "--quiet"});
  CHECK(run["reached"] == true);
  CHECK(run["run"]["evaluated"].get<int>() < 20);
  CHECK(run["run"]["status"] == "finished");
  const Outcome shown = bench.evo(
      {"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed", "1", "--until", "1000ms", "--quiet"});
  CHECK_THAT(shown.out, ContainsSubstring("the latency of --until is reached"));
  for (const char* wrong : {"20", "us", "-1us", "0us", "fast"})
    check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--until", wrong}), 2,
                  {"--until", wrong, "20us"});
}

TEST_CASE("notes of a proposer are kept, shown and reported; one that is too long is refused") {
  const ToyBench bench;
  bench.write("propose.py", R"py(import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        genes = message["families"][0]["genes"]
        continue
    proposals = []
    for elite in message["elites"][:1]:
        for gene in genes:
            for allele in gene["alleles"]:
                genome = {"family": "plain", "genes": dict(elite["genome"]["genes"], **{gene["name"]: allele})}
                proposals.append({"genome": genome, "note": "x" * 5000})
                proposals.append({"genome": genome, "parents": [elite["ticket"]], "note": "one gene,\none step"})
    print(json.dumps({"proposals": proposals}), flush=True)
)py");
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed", "1",
                                     "--proposer", "python3 propose.py", "--proposer-share", "100", "--quiet"});
  REQUIRE(outcome.code == 0);
  const auto report = bench.json({"report"});
  REQUIRE(!report["notes"].empty());
  const std::string candidate = std::to_string(report["notes"][0]["candidate"].get<int>());
  CHECK(report["notes"][0]["note"] == "one gene,\none step");
  for (const auto& note : report["notes"]) CHECK(note["note"].get<std::string>().size() < 100);
  CHECK(bench.json({"show", candidate})["note"] == "one gene,\none step");
  CHECK_THAT(bench.evo({"show", candidate}).out, ContainsSubstring("one gene, one step"));
  CHECK_THAT(bench.evo({"report"}).out, ContainsSubstring("notes of the proposer"));
  // They come along when databases are merged.
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--quiet", "--db", "b.db"}).code == 0);
  REQUIRE(bench.evo({"db", "merge", "runs/evo.db", "--db", "b.db"}).code == 0);
  CHECK(bench.json({"report", "2", "--db", "b.db"})["notes"].size() == report["notes"].size());
}

TEST_CASE("a report of a run that is not there is refused in one line") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--quiet"}).code == 0);
  check_refused(bench.evo({"report", "7"}), 2, {"7"});
  check_refused(bench.evo({"report", "x"}), 2, {"x"});
}

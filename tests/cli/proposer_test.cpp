#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "bench.h"

using namespace evo::testing;

namespace {

/// The example of docs/proposer.md, as a person would take it from there.
std::string example() {
  std::ifstream file(std::string(EVO_SOURCE_DIR) + "/docs/proposer.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string opening = "```python\n";
  const std::size_t begin = text.str().find(opening) + opening.size();
  return text.str().substr(begin, text.str().find("```", begin) - begin);
}

Outcome run(const Bench& bench, const std::string& command, const std::string& database,
            const std::string& evaluations) {
  Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", evaluations, "--seed",
                               "1", "--db", database, "--proposer", command, "--proposer-deadline", "20s"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome;
}

nlohmann::json outcomes(const Bench& bench, const std::string& database) {
  return bench.json({"runs", "1", "--db", database})["runs"][0]["outcomes"];
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the example proposer has its share of a run, with its lineage") {
  const Bench bench;
  write_toy_task(bench);
  bench.write("propose.py", example());
  const Outcome outcome = run(bench, "python3 propose.py", "run.db", "24");
  INFO(outcome.err);
  int proposed = 0;
  for (const auto& row : outcomes(bench, "run.db")) {
    if (row["op"] != "proposer") continue;
    ++proposed;
    const auto shown = bench.json({"show", std::to_string(row["candidate"].get<int>()), "--db", "run.db"});
    CHECK(shown["parents"].size() == 1);
  }
  CHECK(proposed > 0);
  CHECK(proposed <= 6);
  CHECK(occurrences(outcome.err, "proposer: ") == 0);
}

TEST_CASE("a proposer that ends, talks nonsense or stalls is told of, and the run goes on as without it") {
  const Bench bench;
  write_toy_task(bench);
  REQUIRE(bench
              .evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed", "1", "--db",
                    "alone.db"})
              .code == 0);
  const auto alone = outcomes(bench, "alone.db");
  const auto check = [&](const std::string& name, const std::string& command, const std::string& says) {
    const std::string database = name + ".db";
    const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed",
                                       "1", "--db", database, "--proposer", command, "--proposer-deadline",
                                       name == "stalls" ? "100ms" : "20s"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(occurrences(outcome.err, "proposer: ") == 3);
    CHECK(occurrences(outcome.err, says) == 3);
    CHECK(occurrences(outcome.err, "the run goes on without it") == 1);
    const auto rows = outcomes(bench, database);
    REQUIRE(rows.size() == alone.size());
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i]["latency_us"] == alone[i]["latency_us"]);
  };
  check("ends", "exit 1", "it has ended");
  check("nonsense", "while read line; do echo gibberish; done", "its answer is not");
  check("stalls", "sleep 1000", "no answer within");
}

TEST_CASE("a run with a proposer is resumed with what it proposed, without asking again") {
  const Bench bench;
  write_toy_task(bench);
  bench.write("propose.py", example());
  run(bench, "python3 propose.py", "run.db", "20");
  const auto before = outcomes(bench, "run.db");
  REQUIRE(before.dump().find("\"proposer\"") != std::string::npos);
  const Outcome outcome = bench.evo({"run", "--resume", "1", "--evals", "24", "--db", "run.db"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 0);
  const auto after = outcomes(bench, "run.db");
  REQUIRE(after.size() == 24);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i]["candidate"] == before[i]["candidate"]);
}

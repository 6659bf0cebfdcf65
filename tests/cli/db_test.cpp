#include <SQLiteCpp/SQLiteCpp.h>

#include "bench.h"

using namespace evo::testing;

namespace {

void run_toy_into(const Bench& bench, const std::string& seed, const std::string& database) {
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "6", "--seed", seed,
                                     "--quiet", "--strategy", "random", "--db", database});
  REQUIRE(outcome.code == 0);
}

/// Two runs of the toy task, each in a database of its own.
void run_toy_in_two_databases(const Bench& bench) {
  write_toy_task(bench);
  run_toy_into(bench, "1", "a.db");
  run_toy_into(bench, "2", "b.db");
}

/// Latency and source of each elite: all that does not depend on the numbers of runs and candidates.
nlohmann::json essence(const Bench& bench, const std::string& database) {
  nlohmann::json rows = nlohmann::json::array();
  const nlohmann::json elites = bench.json({"elites", "--db", database});
  for (const auto& elite : elites["elites"]) rows.push_back({elite["latency_us"], elite["source_hash"]});
  return rows;
}

}  // namespace

TEST_CASE("evo db check distinguishes a sound database from a damaged one") {
  const ToyBench bench;
  run_toy_into(bench, "1", "a.db");
  const Outcome sound = bench.evo({"db", "check", "--db", "a.db"});
  CHECK(sound.code == 0);
  CHECK(sound.out == "a.db is sound\n");
  SQLite::Database((bench / "a.db").string(), SQLite::OPEN_READWRITE).exec("DELETE FROM elite_history");
  const Outcome damaged = bench.evo({"db", "check", "--db", "a.db"});
  CHECK(damaged.code == 1);
  CHECK(holds(damaged.out, "missing from the history"));
  CHECK(bench.json({"db", "check", "--db", "a.db"}, 1)["problems"].size() == 3);
  check_refused(bench.evo({"db", "check", "--db", "none.db"}), 2, {"there is no database none.db"});
}

TEST_CASE("a merged database holds the runs of both, and the best three of both are its elites", "[long]") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  run_toy_into(bench, "1", "both.db");
  run_toy_into(bench, "2", "both.db");
  const nlohmann::json counts = bench.json({"db", "merge", "b.db", "--db", "a.db"});
  CHECK(counts["runs"] == 1);
  CHECK(counts["candidates"] == 6);
  CHECK(essence(bench, "a.db") == essence(bench, "both.db"));
  CHECK(bench.evo({"db", "check", "--db", "a.db"}).code == 0);
  // Merged runs can be shown, verified and resumed.
  const nlohmann::json runs = bench.json({"runs", "--db", "a.db"})["runs"];
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["seed"] == 2);
  CHECK(runs[0]["evaluated"] == 6);
  CHECK(bench.evo({"verify", "9", "--db", "a.db"}).code == 0);
  CHECK(bench.evo({"run", "--resume", "2", "--evals", "8", "--quiet", "--db", "a.db"}).code == 0);
}

TEST_CASE("merging again adds nothing, and the other database is not changed", "[long]") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  const std::string before = bench.read("b.db");
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
  const Outcome again = bench.evo({"db", "merge", "b.db", "--db", "a.db"});
  CHECK(again.code == 0);
  CHECK(holds(again.out, "0 runs with 0 candidates"));
  CHECK(holds(again.out, "1 runs were here already"));
  CHECK(bench.read("b.db") == before);
}

TEST_CASE("a second merge adds the results that a run has found since the first", "[long]") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  run_toy_into(bench, "1", "both.db");
  run_toy_into(bench, "2", "both.db");
  const auto resume = [&](const std::string& run, const std::string& evals, const std::string& database) {
    const Outcome outcome = bench.evo({"run", "--resume", run, "--evals", evals, "--quiet", "--db", database});
    REQUIRE(outcome.code == 0);
  };
  const auto merge = [&] { return bench.json({"db", "merge", "b.db", "--db", "a.db"}); };
  REQUIRE(merge()["runs"] == 1);
  // Both copies continue with the same results, one of them further: no contradiction.
  resume("1", "12", "b.db");
  resume("2", "8", "a.db");
  resume("2", "12", "both.db");
  const nlohmann::json counts = merge();
  CHECK(counts["runs"] == 0);
  CHECK(counts["known_runs"] == 1);
  CHECK(counts["continued_runs"] == 1);
  CHECK(counts["candidates"] == 4);
  CHECK(counts["contradicting_runs"].empty());
  CHECK(essence(bench, "a.db") == essence(bench, "both.db"));
  const nlohmann::json run = bench.json({"runs", "--db", "a.db"})["runs"][0];
  const nlohmann::json theirs = bench.json({"runs", "--db", "b.db"})["runs"][0];
  for (const char* member : {"evaluated", "valid", "status", "finished_at"}) CHECK(run[member] == theirs[member]);
  CHECK(bench.evo({"db", "check", "--db", "a.db"}).code == 0);
  CHECK(merge()["candidates"] == 0);
  // The run continues here from the merged results.
  resume("2", "14", "a.db");
  CHECK(merge()["continued_runs"] == 0);
  CHECK(bench.json({"runs", "--db", "a.db"})["runs"][0]["evaluated"] == 14);
}

TEST_CASE("a second merge adds the end of a run that was merged while it ran") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
  SQLite::Database((bench / "a.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE run SET status = 'running', finished_at = NULL WHERE id = 2");
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
  CHECK(bench.json({"runs", "--db", "a.db"})["runs"][0]["status"] == "finished");
}

TEST_CASE("two copies of a run that continued with different results are reported, and left as they are") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", "8", "--quiet", "--db", "b.db"}).code == 0);
  run_toy_into(bench, "3", "b.db");
  SQLite::Database((bench / "a.db").string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE evaluation SET latency_us = latency_us + 1 WHERE candidate = (SELECT max(id) FROM candidate "
          "WHERE run = 2 AND id NOT IN (SELECT candidate FROM elite))");
  const Outcome merged = bench.evo({"db", "merge", "b.db", "--db", "a.db"});
  CHECK(merged.code == 0);
  CHECK(holds(merged.out, "1 runs with 6 candidates came from b.db"));
  CHECK(holds(merged.out, "\nrun 2 has other results there than here: it was left as it is"));
  CHECK(bench.json({"runs", "--db", "a.db"})["runs"][1]["evaluated"] == 6);
  CHECK(bench.evo({"db", "check", "--db", "a.db"}).code == 0);
}

TEST_CASE("a merge adds the files of a task that was imported before, also for runs that are here already") {
  const ToyBench bench;
  run_toy_into(bench, "1", "b.db");
  REQUIRE(bench.evo({"export", "--format", "kerneltuner", "-o", "sweep.json", "--db", "b.db"}).code == 0);
  REQUIRE(bench.evo({"import", "sweep.json", "--db", "a.db"}).code == 0);
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
  const auto export_best = [&] { return bench.evo({"export", "--db", "a.db", "-o", "best.cu"}); };
  CHECK(export_best().code == 0);
  CHECK(bench.evo({"db", "check", "--db", "a.db"}).code == 0);

  SQLite::Database((bench / "a.db").string(), SQLite::OPEN_READWRITE).exec("DELETE FROM task_file");
  const Outcome damaged = bench.evo({"db", "check", "--db", "a.db"});
  CHECK(damaged.code == 1);
  CHECK(damaged.out ==
        "run 2 has candidates with sources, but its task has no files: merge again the database that it came from\n");
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
  CHECK(export_best().code == 0);
  CHECK(bench.evo({"db", "check", "--db", "a.db"}).code == 0);
}

TEST_CASE("a damaged or missing database, or the database itself, is not merged") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  check_refused(bench.evo({"db", "merge", "a.db", "--db", "a.db"}), 2, {"is the database itself"});
  check_refused(bench.evo({"db", "merge", "none.db", "--db", "a.db"}), 2, {"there is no database none.db"});
  check_refused(bench.evo({"db", "merge", "none.db", "--db", "new.db"}), 2, {"there is no database none.db"});
  SQLite::Database((bench / "b.db").string(), SQLite::OPEN_READWRITE).exec("DELETE FROM elite_history");
  check_refused(bench.evo({"db", "merge", "b.db", "--db", "a.db"}), 2, {"b.db is not sound, nothing was merged"});
  CHECK(bench.json({"runs", "--db", "a.db"})["runs"].size() == 1);
  check_refused(bench.evo({"db", "merge", "b.db", "--db", "new.db"}), 2, {"b.db is not sound, nothing was merged"});
  CHECK_FALSE(std::filesystem::exists(bench / "new.db"));
}

TEST_CASE("a merge into a database that is not there makes it") {
  const Bench bench;
  run_toy_in_two_databases(bench);
  REQUIRE(bench.evo({"db", "merge", "b.db", "--db", "new.db"}).code == 0);
  const auto ours = bench.json({"elites", "--db", "new.db"})["elites"];
  const auto theirs = bench.json({"elites", "--db", "b.db"})["elites"];
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) CHECK(ours[i]["source_hash"] == theirs[i]["source_hash"]);
  CHECK(bench.evo({"db", "check", "--db", "new.db"}).code == 0);
}

TEST_CASE("a compacted database is not larger and has the same content") {
  const ToyBench bench;
  run_toy_into(bench, "1", "a.db");
  {
    SQLite::Database database((bench / "a.db").string(), SQLite::OPEN_READWRITE);
    database.exec("INSERT INTO text (hash, content) VALUES ('x', hex(zeroblob(1000000)))");
  }
  const auto large = std::filesystem::file_size(bench / "a.db");
  const nlohmann::json before = bench.json({"elites", "--db", "a.db"});
  REQUIRE(bench.evo({"db", "compact", "--db", "a.db"}).code == 0);
  CHECK(std::filesystem::file_size(bench / "a.db") + 1'000'000 < large);
  CHECK(bench.json({"elites", "--db", "a.db"}) == before);
  CHECK(bench.evo({"db", "check", "--db", "a.db"}).code == 0);
}

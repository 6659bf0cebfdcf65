// A database that an older evo left (tests/data/schema_N.sql) under this one.
#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>

#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

fs::path old_database(const TempFolder& folder, const std::string& dumped = "schema_1.sql") {
  const fs::path path = folder / "old.db";
  const std::string dump = read_text(fs::path(EVO_TEST_DATA) / dumped);
  REQUIRE_FALSE(dump.empty());
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(dump);
  return path;
}

}  // namespace

TEST_CASE("a reader does not change a database of an older evo and says how to bring it up to date") {
  const TempFolder folder;
  const fs::path path = old_database(folder);
  const std::string before = read_text(path);
  CHECK_THAT(error_of([&] { Store::open(path, Store::Mode::read); }),
             ContainsSubstring("has schema 1 of an older evo") &&
                 ContainsSubstring("`evo db compact --db " + path.string() + "` brings it up to date"));
  CHECK(read_text(path) == before);
}

TEST_CASE("a writer brings a database of an older evo up to date and loses nothing") {
  const TempFolder folder;
  const fs::path path = old_database(folder);
  Store store = Store::open(path, Store::Mode::write);
  CHECK(store.check().empty());
  const RunRow run = store.run(1).value();
  CHECK(run.info.task == "toy");
  CHECK(run.evaluated == 4);
  REQUIRE(store.elites().size() == 3);
  const EliteRow best = store.elites().front();
  CHECK(best.candidate == 3);
  CHECK_FALSE(best.timings.at(0).conditions.sm_mhz_high);
  const CandidateRow row = store.candidate(best.candidate).value();
  CHECK(row.evaluation.latency_us == best.latency_us);
  CHECK(row.evaluation.builds.at(0).flags.empty());
  CHECK(row.evaluation.builds.at(0).largest().registers > 0);
  CHECK(store.task_files(run.info.task_hash).contains("toy/task.json"));
  // New rows can be added.
  RunInfo info = run_info();
  const auto archive = store.archive(store.begin_run(info));
  archive->record(proposal(0), candidate(proposal(0), "source"), valid(20, "1"));
  CHECK(store.check().empty());
  CHECK(Store::open(path, Store::Mode::read).runs().size() == 2);
}

TEST_CASE("a database of an older evo takes devices of kinds that it did not know") {
  const TempFolder folder;
  Store store = Store::open(old_database(folder), Store::Mode::write);
  RunInfo info = run_info();
  info.device.kind = "replayed";
  info.device.id = "replayed:0";
  store.archive(store.begin_run(info))->record(proposal(0), candidate(proposal(0), "source"), valid(20, "1"));
  CHECK(store.run(2).value().info.device.kind == "replayed");
  CHECK(store.check().empty());
}

TEST_CASE("only an existing database with content can be changed, also one of an older evo") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { Store::open(folder / "none.db", Store::Mode::change); }),
             ContainsSubstring("there is no database"));
  std::ofstream(folder / "empty.db").close();
  CHECK_THAT(error_of([&] { Store::open(folder / "empty.db", Store::Mode::change); }), ContainsSubstring("is empty"));
  Store::open(old_database(folder), Store::Mode::change).compact();
  CHECK(Store::open(folder / "old.db", Store::Mode::read).elites().size() == 3);
}

TEST_CASE("a database that is brought up to date has the schema of a new one") {
  const TempFolder folder;
  const auto schema = [](const fs::path& path) {
    Store::open(path, Store::Mode::write);
    SQLite::Database database(path.string());
    SQLite::Statement rows(database,
                           "SELECT group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), char(10)) "
                           "FROM (SELECT * FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name)");
    rows.executeStep();
    return rows.getColumn(0).getString();
  };
  for (const char* dumped : {"schema_1.sql", "schema_13.sql", "schema_14.sql"}) {
    INFO(dumped);
    const std::string updated = schema(old_database(folder, dumped));
    CHECK_THAT(updated, ContainsSubstring("selftest"));
    CHECK(updated == schema(folder / "new.db"));
    fs::remove(folder / "old.db");
  }
}

TEST_CASE("what an older evo knew of all kernels together, and noted in words, is kept as such") {
  const TempFolder folder;
  Store store = Store::open(old_database(folder, "schema_13.sql"), Store::Mode::write);
  CHECK(store.check().empty());
  const Evaluation first = store.candidate(1).value().evaluation;
  REQUIRE(first.builds.size() == 1);
  CHECK(first.builds[0].kernel("k").registers == 128);  // Of the module: an older evo knew no more.
  CHECK(first.builds[0].largest().registers == 128);
  CHECK(store.elites().at(0).registers == 128);
  CHECK_THAT(first.notes, ContainsSubstring("10 registers") && ContainsSubstring("SAME compared with elite 3"));
  CHECK(first.residency.empty());
  CHECK_FALSE(first.comparison);
  const Evaluation wrong = store.candidate(2).value().evaluation;
  CHECK(wrong.verdict == Verdict::wrong_answer);
  CHECK_THAT(wrong.reason, ContainsSubstring("relative L2 error 0.7"));
  CHECK_FALSE(wrong.mismatch);
  CHECK(store.run(1).value().info.strategy == "evolve");
}

TEST_CASE("what an older evo told of originals in words, and of samples and rounds in rows, are facts of candidates") {
  const TempFolder folder;
  Store store = Store::open(old_database(folder, "schema_14.sql"), Store::Mode::write);
  CHECK(store.check().empty());
  const RunInfo run = store.run(1).value().info;
  CHECK(run.device.id == "vgpu:h200");
  CHECK(run.command_line == "evo tune k.json --device vgpu --evals 6 --seed 7 --quiet --db old.db");
  CHECK(run.evaluation_limit == 6);
  CHECK_FALSE(run.time_limit_s);
  const CandidateRow best = store.candidate(1).value();
  CHECK_FALSE(best.evaluation.original);
  CHECK(best.evaluation.timings.at(0).samples_us == std::vector{0.783224043715847});
  CHECK(best.sittings.at(0).rounds_us == std::vector{0.783224043715847});
  CHECK(best.sittings.at(0).rivals.at(0).rounds_us == std::vector{0.7});
  CHECK(best.sittings.at(0).rivals.at(1).rounds_us.empty());
  const Evaluation right = store.candidate(2).value().evaluation, wrong = store.candidate(5).value().evaluation;
  CHECK(right.original == Original{0, Shared::cubin, Verdict::valid});
  CHECK(right.reason.empty());
  CHECK(wrong.original == Original{3, Shared::cubin, Verdict::wrong_answer});
  CHECK(wrong.reason.empty());
  const Evaluation crashed = store.candidate(3).value().evaluation, copy = store.candidate(6).value().evaluation;
  CHECK(copy.original == Original{2, Shared::cubin, Verdict::crashed});
  CHECK(copy.reason == crashed.reason);
}

// What people see who open the database with sqlite3.
#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;

namespace {

std::vector<std::vector<std::string>> rows_of(const std::filesystem::path& path, const std::string& sql) {
  SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  SQLite::Statement statement(database, sql);
  std::vector<std::vector<std::string>> rows;
  while (statement.executeStep()) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int i = 0; i < statement.getColumnCount(); ++i) row.push_back(statement.getColumn(i).getString());
  }
  return rows;
}

using Rows = std::vector<std::vector<std::string>>;

struct SampleDatabase {
  TempFolder folder;
  std::filesystem::path path = folder / "evo.db";
  SampleDatabase() {
    Store store = Store::open(path, Store::Mode::write);
    const auto archive = store.archive(store.begin_run(run_info()));
    const auto add = [&](std::uint64_t ticket, std::vector<std::uint64_t> parents, double latency) {
      const Proposal p = proposal(ticket, std::move(parents));
      archive->record(p, candidate(p, std::to_string(ticket)), valid(latency, std::to_string(ticket)));
    };
    add(0, {}, 40);
    add(1, {}, 50);
    add(2, {0, 1}, 30);
    add(3, {2, 0}, 20);
    archive->record(proposal(4), candidate(proposal(4), "4"), failed(Verdict::timed_out, "60 s"));
  }
};

}  // namespace

TEST_CASE("the view elites ranks the best three") {
  const SampleDatabase sample;
  CHECK(rows_of(sample.path, "SELECT rank, task, device, objective, candidate, latency_us, registers FROM elites") ==
        Rows{{"1", "toy", "Test GPU", "latency mission out=f16", "4", "20.0", "72"},
             {"2", "toy", "Test GPU", "latency mission out=f16", "3", "30.0", "72"},
             {"3", "toy", "Test GPU", "latency mission out=f16", "1", "40.0", "72"}});
}

TEST_CASE("the view leaderboard has one line for each task, device and objective") {
  const SampleDatabase sample;
  CHECK(rows_of(sample.path, "SELECT task, device, best, latency_us, runs, evaluated, valid FROM leaderboard") ==
        Rows{{"toy", "Test GPU", "4", "20.0", "1", "5", "4"}});
}

TEST_CASE("the view lineage has the ancestors of each elite") {
  const SampleDatabase sample;
  CHECK(rows_of(sample.path, "SELECT distance, candidate, op, latency_us FROM lineage WHERE elite = 4") ==
        Rows{{"0", "4", "crossover", "20.0"},
             {"1", "1", "random", "40.0"},
             {"1", "3", "crossover", "30.0"},
             {"2", "2", "random", "50.0"}});
}

TEST_CASE("every table is STRICT and foreign keys hold") {
  const SampleDatabase sample;
  CHECK(rows_of(sample.path,
                "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND name NOT LIKE "
                "'sqlite_%'") == Rows{});
  CHECK(rows_of(sample.path, "PRAGMA foreign_key_check") == Rows{});
  CHECK(rows_of(sample.path, "PRAGMA journal_mode") == Rows{{"wal"}});
}

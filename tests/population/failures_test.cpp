#include <SQLiteCpp/SQLiteCpp.h>

#include "population/store/schema.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;
namespace fs = std::filesystem;

namespace {

/// A database with one run and `results` results.
RunId make_database(const fs::path& path, std::uint64_t results) {
  Store store = Store::open(path, Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const auto archive = store.archive(run);
  for (std::uint64_t i = 0; i < results; ++i) {
    archive->record(proposal(i), candidate(proposal(i), std::to_string(i)), valid(10, std::to_string(i)));
  }
  return run;
}

Fault fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.fault();
  }
  FAIL("no error");
  return Fault::machine;
}

}  // namespace

TEST_CASE("reading a database that does not exist says how to make one and makes nothing") {
  const TempFolder folder;
  const fs::path path = folder / "none.db";
  const auto open = [&] { Store::open(path, Store::Mode::read); };
  CHECK(fault_of(open) == Fault::usage);
  CHECK_THAT(error_of(open), Equals("there is no database " + path.string() + ": `evo run --task TASK --db " +
                                    path.string() + "` makes one"));
  CHECK(folder.files().empty());
}

TEST_CASE("a folder is not a database") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { Store::open(folder.path(), Store::Mode::read); }), ContainsSubstring("is a folder"));
  CHECK(is_one_line(error_of([&] { Store::open(folder.path(), Store::Mode::write); })));
}

TEST_CASE("the folder of a new database is made, a whole tree is not") {
  const TempFolder folder;
  Store::open(folder / "runs/evo.db", Store::Mode::write);
  CHECK(fs::exists(folder / "runs/evo.db"));
  const std::string message = error_of([&] { Store::open(folder / "a/b/evo.db", Store::Mode::write); });
  CHECK_THAT(message, ContainsSubstring((folder / "a/b").string()) && ContainsSubstring("make it or choose another"));
  CHECK_FALSE(fs::exists(folder / "a"));
}

TEST_CASE("a database of a newer evo is not changed") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 1);
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  const std::string before = read_text(path);
  for (const Store::Mode mode : {Store::Mode::read, Store::Mode::write}) {
    const auto open = [&] { Store::open(path, mode); };
    CHECK(fault_of(open) == Fault::usage);
    CHECK_THAT(error_of(open),
               Equals("database " + path.string() + " was written by a newer evo (schema 99, this evo knows " +
                      std::to_string(schema_version()) + "): update evo or choose another --db"));
  }
  CHECK(read_text(path) == before);
}

TEST_CASE("a database of another program is not changed") {
  const TempFolder folder;
  const fs::path path = folder / "mail.db";
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE mail (subject TEXT)");
  const std::string before = read_text(path);
  for (const Store::Mode mode : {Store::Mode::read, Store::Mode::write}) {
    const auto open = [&] { Store::open(path, mode); };
    CHECK(fault_of(open) == Fault::usage);
    CHECK_THAT(error_of(open), ContainsSubstring("database of another program"));
  }
  CHECK(read_text(path) == before);
  CHECK(folder.files() == std::vector<std::string>{"mail.db"});
}

TEST_CASE("a file that is no database is not changed") {
  const TempFolder folder;
  const fs::path path = folder / "notes.txt";
  const std::string text = "These are my notes, more than a hundred bytes of them. " + std::string(100, '.');
  write_text(path, text);
  for (const Store::Mode mode : {Store::Mode::read, Store::Mode::write}) {
    const auto open = [&] { Store::open(path, mode); };
    CHECK(fault_of(open) == Fault::usage);
    CHECK_THAT(error_of(open), Equals(path.string() + " is not a database: name another file"));
  }
  CHECK(read_text(path) == text);
  CHECK(folder.files() == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("an empty file is an empty database: readers say so, writers fill it") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  write_text(path, "");
  CHECK_THAT(error_of([&] { Store::open(path, Store::Mode::read); }), ContainsSubstring("is empty"));
  CHECK(fs::file_size(path) == 0);
  make_database(path, 1);
  CHECK(Store::open(path, Store::Mode::read).runs().size() == 1);
}

TEST_CASE("a truncated database is reported, never read as if it were whole") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 40);
  fs::resize_file(path, fs::file_size(path) / 2);
  const std::string message = error_of([&] {
    const Store store = Store::open(path, Store::Mode::read);
    const std::vector<std::string> problems = store.check();
    if (!problems.empty()) throw machine_error(problems.front());
  });
  CHECK(is_one_line(message));
}

TEST_CASE("reading leaves no file behind") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 1);
  CHECK(Store::open(path, Store::Mode::read).runs().size() == 1);
  CHECK(folder.files() == std::vector<std::string>{"evo.db"});
}

TEST_CASE("a reader cannot write") {
  const TempFolder folder;
  const RunId run = make_database(folder / "evo.db", 1);
  Store store = Store::open(folder / "evo.db", Store::Mode::read);
  CHECK(is_one_line(error_of([&] { store.begin_run(run_info()); })));
  CHECK(is_one_line(error_of([&] { store.finish_run(run, RunStatus::failed); })));
  CHECK(store.runs().size() == 1);
}

TEST_CASE("a database in a folder that may not be written can be read but not written") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 2);
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                                     fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec);
  const ChildResult reading = in_unprivileged_child([&] {
    const Store store = Store::open(path, Store::Mode::read);
    if (store.elites().size() != 2) throw machine_error("elites are missing");
  });
  CHECK(reading.exit_code == 0);
  CHECK(reading.output.empty());
  const ChildResult writing =
      in_unprivileged_child([&] { Store::open(path, Store::Mode::write).begin_run(run_info()); });
  CHECK(writing.exit_code == 3);
  CHECK(is_one_line(writing.output));
  CHECK_THAT(writing.output, ContainsSubstring(path.string()) && ContainsSubstring("choose another --db"));
  const ChildResult making =
      in_unprivileged_child([&] { Store::open(folder / "new.db", Store::Mode::write).begin_run(run_info()); });
  CHECK(making.exit_code == 3);
  CHECK(is_one_line(making.output));
  CHECK(folder.files() == std::vector<std::string>{"evo.db"});
}

TEST_CASE("a file that may not be read says so") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 1);
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(path, fs::perms::none);
  const ChildResult reading = in_unprivileged_child([&] { Store::open(path, Store::Mode::read); });
  CHECK(reading.exit_code == 3);
  CHECK_THAT(reading.output, ContainsSubstring(path.string()));
  CHECK(is_one_line(reading.output));
}

TEST_CASE("a full disk is reported in one line, and reported results are kept and others rolled back") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  RunId run = 0;
  std::uint64_t reported = 0;
  std::string message;
  {
    Store store = Store::open(path, Store::Mode::write, {.busy_timeout_ms = 10'000, .max_pages = 120});
    run = store.begin_run(run_info());
    const auto archive = store.archive(run);
    message = error_of([&] {
      for (; reported < 10'000; ++reported) {
        const Proposal p = proposal(reported);
        archive->record(p, candidate(p, std::string(5000, 'x') + std::to_string(reported)),
                        valid(100.0 - static_cast<double>(reported), std::to_string(reported)));
      }
    });
    CHECK(is_one_line(message));
    CHECK_THAT(message, ContainsSubstring("no space left for database " + path.string()));
    CHECK(store.outcomes(run).size() == reported);
    CHECK(store.check().empty());
  }
  CHECK(reported > 3);
  Store store = Store::open(path, Store::Mode::write);
  CHECK(store.outcomes(run).size() == reported);
  CHECK(store.check().empty());
  const Proposal next = proposal(reported);
  store.archive(run)->record(next, candidate(next, "after"), valid(1, "after"));
  CHECK(store.elites().at(0).latency_us == 1);
}

TEST_CASE("a new database that does not fit on the disk is reported in one line") {
  const TempFolder folder;
  const std::string message =
      error_of([&] { Store::open(folder / "evo.db", Store::Mode::write, {.busy_timeout_ms = 1000, .max_pages = 5}); });
  CHECK_THAT(message, ContainsSubstring("no space left"));
  make_database(folder / "evo.db", 1);
  CHECK(Store::open(folder / "evo.db", Store::Mode::read).check().empty());
}

TEST_CASE("a locked database is reported in one line, and readers neither block nor wait") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 2);
  SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  Store writer = Store::open(path, Store::Mode::write, {.busy_timeout_ms = 20});
  const auto begin = [&] { writer.begin_run(run_info()); };
  CHECK(fault_of(begin) == Fault::machine);
  CHECK_THAT(error_of(begin),
             Equals("database " + path.string() +
                    " is locked by another process: wait until it has finished or choose another --db"));
  CHECK(Store::open(path, Store::Mode::read).elites().size() == 2);
  other.exec("ROLLBACK");
  writer.begin_run(run_info());
  CHECK(writer.runs().size() == 2);
}

TEST_CASE("file names with spaces, question marks and percent signs are names, not options") {
  const TempFolder folder;
  const std::string name = "my runs?mode=memory&x=%41#1.db";
  make_database(folder / name, 1);
  CHECK(folder.files() == std::vector<std::string>{name});
  CHECK(Store::open(folder / name, Store::Mode::read).runs().size() == 1);
}

TEST_CASE("the database itself refuses a fourth elite, an invalid one and changed latencies") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  {
    Store store = Store::open(path, Store::Mode::write);
    const auto archive = store.archive(store.begin_run(run_info()));
    for (std::uint64_t i = 0; i < 4; ++i) {
      archive->record(proposal(i), candidate(proposal(i), std::to_string(i)), valid(10, std::to_string(i)));
    }
    archive->record(proposal(4), candidate(proposal(4), "4"), failed(Verdict::wrong_answer, "no"));
  }
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  const auto refusal = [&](const std::string& sql) -> std::string {
    try {
      database.exec(sql);
    } catch (const SQLite::Exception& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string insert =
      "INSERT INTO elite SELECT candidate.id, 1, 10.0, 'x' || candidate.id, NULL, '' FROM candidate ";
  CHECK_THAT(refusal(insert + "WHERE ticket = 3"), ContainsSubstring("three elites at most"));
  database.exec("DELETE FROM elite WHERE candidate = (SELECT max(candidate) FROM elite)");
  CHECK_THAT(refusal(insert + "WHERE ticket = 4"), ContainsSubstring("valid candidate"));
  CHECK_THAT(refusal("INSERT INTO elite SELECT id, 1, 9.0, 'x', NULL, '' FROM candidate WHERE ticket = 3"),
             ContainsSubstring("valid candidate"));
  CHECK_THAT(refusal("UPDATE elite SET latency_us = 1"), ContainsSubstring("not changed"));
  CHECK(refusal(insert + "WHERE ticket = 3") == "accepted");
}

TEST_CASE("a check finds changes that another program made to the elites") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  make_database(path, 3);
  CHECK(Store::open(path, Store::Mode::read).check().empty());
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  const auto problems_after = [&](const std::string& sql) {
    database.exec(sql);
    return Store::open(path, Store::Mode::read).check();
  };
  CHECK_THAT(problems_after("DELETE FROM elite WHERE candidate = 1").at(0),
             Equals("candidate 1 became an elite and was never displaced, but is none"));
  CHECK_THAT(problems_after("DELETE FROM elite_history WHERE entered = 1; UPDATE evaluation SET verdict = "
                            "'crashed' WHERE candidate = 2")
                 .at(0),
             Equals("elite 2 is not a valid candidate of its board"));
  CHECK_THAT(problems_after("UPDATE evaluation SET verdict = 'valid'; DELETE FROM elite_history").at(0),
             Equals("elite 2 is missing from the history or was displaced"));
  CHECK_THAT(
      problems_after("PRAGMA foreign_keys = OFF; DELETE FROM elite; DELETE FROM evaluation WHERE candidate = 3").at(0),
      Equals("candidate 3 has no evaluation"));
  CHECK_THAT(problems_after("PRAGMA foreign_keys = OFF; DELETE FROM task").at(0),
             ContainsSubstring("missing row of task"));
}

TEST_CASE("an invalid row is an error that names the database") {
  for (const std::string sql :
       {"UPDATE candidate SET genome = 'nonsense'", "UPDATE run SET target = '{}'", "UPDATE device SET facts = '[1]'",
        "UPDATE evaluation SET verdict = 'splendid'",
        ("UPDATE run SET seeds = '[{\"origin\": \"\", \"genome\": ' || replace(hex(zeroblob(200000)), '00', '[') || "
         "replace(hex(zeroblob(200000)), '00', ']') || '}]'")}) {
    const TempFolder folder;
    const fs::path path = folder / "evo.db";
    make_database(path, 1);
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(sql);
    const Store store = Store::open(path, Store::Mode::read);
    const auto read_all = [&] {
      store.runs();
      store.elites();
      store.candidate(1);
    };
    INFO(sql);
    CHECK(fault_of(read_all) == Fault::machine);
    CHECK_THAT(error_of(read_all), ContainsSubstring("database " + path.string() + " has an unreadable row"));
    CHECK(is_one_line(error_of(read_all)));
  }
}

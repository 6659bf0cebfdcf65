#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

void run_toy_in(const Bench& bench, const std::string& seed, const std::string& database) {
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "6", "--seed", seed,
                                     "--quiet", "--strategy", "random", "--db", database});
  REQUIRE(outcome.code == 0);
}

void change(const Bench& bench, const std::string& sql, const std::string& database = "b.db") {
  SQLite::Database((bench / database).string(), SQLite::OPEN_READWRITE).exec(sql);
}

/// Ours is a.db; somebody else's, b.db.
class Databases {
 public:
  Databases() {
    write_toy_task(bench_);
    run_toy_in(bench_, "1", "a.db");
    run_toy_in(bench_, "2", "b.db");
  }
  const Bench& bench() const { return bench_; }

  /// Nothing of b.db is merged, and a.db is as sound as before.
  void check_not_merged(const std::vector<std::string>& parts) const {
    check_refused(bench_.evo({"db", "merge", "b.db", "--db", "a.db"}), 2, parts);
    CHECK(bench_.evo({"db", "check", "--db", "a.db"}).out == "a.db is sound\n");
    CHECK(bench_.json({"runs", "--db", "a.db"})["runs"].size() == 1);
  }

  /// The problem is found; what is left works, and the former file is kept.
  std::string repaired() const {
    CHECK(bench_.evo({"db", "check", "--db", "b.db"}).code == 1);
    const Outcome outcome = bench_.evo({"db", "check", "--repair", "--db", "b.db"});
    CHECK(outcome.code == 0);
    CHECK(holds(outcome.out, "b.db is sound now; the former is b.db.before-repair\n"));
    CHECK(std::filesystem::exists(bench_ / "b.db.before-repair"));
    CHECK(bench_.evo({"db", "check", "--db", "b.db"}).out == "b.db is sound\n");
    CHECK(bench_.evo({"db", "merge", "b.db", "--db", "a.db"}).code == 0);
    CHECK(bench_.evo({"db", "check", "--db", "a.db"}).code == 0);
    return outcome.out;
  }

 private:
  Bench bench_;
};

constexpr const char* kWorst =
    "(SELECT max(candidate) FROM evaluation WHERE candidate NOT IN (SELECT candidate FROM elite))";

}  // namespace

TEST_CASE("a row that cannot be read is not merged, and a repair drops its candidate alone") {
  const Databases databases;
  for (const char* sql : {"UPDATE candidate SET genome = '{\"family' WHERE id = 2",
                          "UPDATE timing SET samples_us = '[1, [[[[' WHERE candidate = 1",
                          "UPDATE evaluation SET verdict = 'splendid' WHERE candidate = 3",
                          "UPDATE program SET max_registers = 99999999999 WHERE candidate = 4"}) {
    INFO(sql);
    change(databases.bench(), sql);
    databases.check_not_merged({"b.db is not sound, nothing was merged", "cannot be read"});
  }
  CHECK(databases.bench().evo({"show", "2", "--db", "b.db"}).code == 3);
  const std::string dropped = databases.repaired();
  CHECK(holds(dropped, "the row candidate 2 cannot be read"));
  CHECK(holds(dropped, "the row timing of candidate 1 cannot be read"));
  CHECK(databases.bench().json({"runs", "--db", "b.db"})["runs"][0]["evaluated"] == 2);
}

TEST_CASE("a view, a table or a trigger that evo has not is refused by every command before it is read", "[long]") {
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
  std::vector<std::vector<std::string>> commands = {{"elites"},
                                                    {"runs"},
                                                    {"show", "1"},
                                                    {"report"},
                                                    {"export", "-o", "best.cu"},
                                                    {"verify", "1"},
                                                    {"run", "--resume", "1"},
                                                    {"db", "compact"},
                                                    {"note", "1", "words"}};
  for (const std::string& sql :
       {"ALTER TABLE run RENAME TO walk; CREATE VIEW run AS " + endless + "walk.* FROM n, walk",
        std::string("CREATE TABLE more (a)"), std::string("CREATE VIEW one AS SELECT 1"),
        std::string("CREATE TRIGGER greedy AFTER INSERT ON run BEGIN DELETE FROM run; END"),
        std::string("DROP TABLE elite_check"), std::string("DROP TRIGGER elite_is_valid"),
        std::string("ALTER TABLE note ADD COLUMN \"\x1b[31m\" TEXT")}) {
    INFO(sql);
    const Databases databases;
    change(databases.bench(), sql);
    for (const std::vector<std::string>& command : commands) {
      std::vector<std::string> whole = command;
      whole.insert(whole.end(), {"--db", "b.db"});
      check_refused(databases.bench().evo(whole), 2, {"b.db was changed by something else than evo"});
    }
    databases.check_not_merged({"b.db was changed by something else than evo"});
    databases.repaired();
    commands.resize(1);  // All open a database in the same way: the first change was tried with each.
  }
}

TEST_CASE("a flipped bit in a stored source is found before the kernel leaves with its old claim") {
  const Databases databases;
  change(databases.bench(),
         "UPDATE text SET content = replace(content, '+', '-') WHERE id IN (SELECT source FROM program)");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"export", "-o", "best.cu", "--db", "b.db"},
                                                  {"verify", "1", "--db", "b.db"},
                                                  {"show", "1", "--source", "--db", "b.db"}}) {
    check_refused(databases.bench().evo(command), 3, {"is not as it was stored"});
  }
  CHECK_FALSE(std::filesystem::exists(databases.bench() / "best.cu"));
  databases.check_not_merged({"is not as it was stored"});
  databases.repaired();
}

TEST_CASE("a source that was changed together with its text's hash is not the one that was evaluated") {
  const Databases databases;
  change(databases.bench(),
         "UPDATE program SET source = (SELECT min(id) FROM text WHERE id <> program.source) "
         "WHERE candidate = (SELECT candidate FROM elite ORDER BY latency_us LIMIT 1)");
  check_refused(databases.bench().evo({"export", "-o", "best.cu", "--db", "b.db"}), 3,
                {"a program's source is not the one that was evaluated"});
}

TEST_CASE("a stored file's path does not lead out of its folder") {
  const Databases databases;
  change(databases.bench(), "UPDATE task_file SET path = '../' || path");
  check_refused(databases.bench().evo({"export", "-o", "best.cu", "--db", "b.db"}), 3,
                {"is no path of a file in a folder"});
  databases.check_not_merged({"is no path of a file in a folder"});
}

TEST_CASE("a number that would take all memory is an unreadable row") {
  const Databases databases;
  change(databases.bench(), "INSERT INTO counter VALUES (1, '8', 1, 4611686018427387904, 'k', 'm', 1)");
  check_refused(databases.bench().evo({"show", "1", "--db", "b.db"}), 3, {"impossible number"});
  databases.check_not_merged({"impossible number"});
  databases.repaired();
}

TEST_CASE("an elite that cannot be read leaves its place, and the history begins anew") {
  const Databases databases;
  change(databases.bench(), "UPDATE candidate SET genome = 'x' WHERE id = (SELECT candidate FROM elite LIMIT 1)");
  CHECK(holds(databases.repaired(), "the history of the elites begins anew"));
  CHECK(databases.bench().json({"elites", "--db", "b.db"})["elites"].size() == 2);
}

TEST_CASE("a repair leaves a sound database as it is, and goes no way that is taken") {
  const Databases databases;
  const std::string before = databases.bench().read("b.db");
  CHECK(databases.bench().evo({"db", "check", "--repair", "--db", "b.db"}).out == "b.db is sound\n");
  CHECK(databases.bench().read("b.db") == before);
  change(databases.bench(), std::string("UPDATE evaluation SET verdict = '?' WHERE candidate = ") + kWorst);
  databases.bench().write("b.db.before-repair", "mine");
  check_refused(databases.bench().evo({"db", "check", "--repair", "--db", "b.db"}), 2,
                {"b.db.before-repair is in the way"});
  CHECK(databases.bench().read("b.db.before-repair") == "mine");
}

#include <SQLiteCpp/SQLiteCpp.h>

#include "bench.h"
#include "population/store/store.h"

using namespace evo::testing;

namespace {

/// Commands that read a database, with whatever else they need.
const std::vector<std::vector<std::string>> kReaders = {{"elites"},    {"runs"},         {"runs", "1"},
                                                        {"show", "1"}, {"lineage", "1"}, {"diff", "1", "2"},
                                                        {"export"},    {"export", "1"},  {"verify", "1"}};

std::vector<std::string> with_database(std::vector<std::string> arguments, const std::string& database) {
  arguments.push_back("--db");
  arguments.push_back(database);
  return arguments;
}

void make_empty_database(const Bench& bench, const std::string& name) {
  evo::Store::open(bench / name, evo::Store::Mode::write);
}

}  // namespace

TEST_CASE("reading a missing database is refused and creates none") {
  const Bench bench;
  for (const auto& reader : kReaders) {
    INFO(reader.front());
    check_refused(bench.evo(with_database(reader, "none.db")), 2, {"none.db"});
  }
  CHECK(bench.files().empty());
}

TEST_CASE("an empty database has no elites and no runs, which is no error") {
  const Bench bench;
  make_empty_database(bench, "empty.db");
  const Outcome elites = bench.evo({"elites", "--db", "empty.db"});
  CHECK(elites.code == 0);
  CHECK(elites.out == "no elites yet: find some with evo run --task T\n");
  const Outcome runs = bench.evo({"runs", "--db", "empty.db"});
  CHECK(runs.code == 0);
  CHECK(runs.out == "no runs yet: start one with evo run --task T\n");
  CHECK(bench.json({"elites", "--db", "empty.db"})["elites"] == nlohmann::json::array());
  CHECK(bench.json({"runs", "--db", "empty.db"})["runs"] == nlohmann::json::array());
}

TEST_CASE("ids that an empty database does not have are refused") {
  const Bench bench;
  make_empty_database(bench, "empty.db");
  check_refused(bench.evo({"show", "7", "--db", "empty.db"}), 2, {"no candidate 7", "evo elites"});
  check_refused(bench.evo({"lineage", "7", "--db", "empty.db"}), 2, {"no candidate 7"});
  check_refused(bench.evo({"diff", "7", "8", "--db", "empty.db"}), 2, {"no candidate 7"});
  check_refused(bench.evo({"verify", "7", "--db", "empty.db"}), 2, {"no candidate 7"});
  check_refused(bench.evo({"runs", "7", "--db", "empty.db"}), 2, {"no run 7"});
  check_refused(bench.evo({"run", "--resume", "7", "--db", "empty.db"}), 2, {"no run 7"});
  check_refused(bench.evo({"export", "--db", "empty.db", "-o", "best.cu"}), 2, {"no elite", "evo run"});
  check_refused(bench.evo({"export", "--task", "toy", "--device", "vgpu", "--db", "empty.db"}), 2,
                {"of task toy", "on vgpu"});
  CHECK(bench.files() == std::vector<std::string>{"empty.db"});
}

TEST_CASE("a database from a newer evo is refused and not changed") {
  const Bench bench;
  make_empty_database(bench, "newer.db");
  SQLite::Database(bench / "newer.db", SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 999");
  const std::string before = bench.read("newer.db");
  for (const auto& reader : kReaders) {
    INFO(reader.front());
    check_refused(bench.evo(with_database(reader, "newer.db")), 2, {"newer.db", "newer"});
  }
  CHECK(bench.read("newer.db") == before);
}

TEST_CASE("a run does not change a database from a newer evo") {
  const ToyBench bench;
  make_empty_database(bench, "newer.db");
  SQLite::Database(bench / "newer.db", SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 999");
  const std::string before = bench.read("newer.db");
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--db", "newer.db", "--quiet"}), 2,
                {"newer.db", "newer"});
  CHECK(bench.read("newer.db") == before);
}

TEST_CASE("a file that is no database is refused and not changed") {
  const ToyBench bench;
  bench.write("letter.txt",
              "Dear reader, this is a letter and no database, however long you look at it. " + std::string(5000, '.'));
  const std::string before = bench.read("letter.txt");
  const Outcome outcome = bench.evo({"elites", "--db", "letter.txt"});
  check_refused(outcome, 2, {"letter.txt"});
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--db", "letter.txt", "--quiet"}), 2,
                {"letter.txt"});
  CHECK(bench.read("letter.txt") == before);
}

TEST_CASE("a database name that SQLite treats as temporary is refused by every command") {
  const ToyBench bench;
  std::vector<std::vector<std::string>> commands = kReaders;
  commands.push_back({"run", "--task", "toy", "--device", "vgpu", "--quiet"});
  commands.push_back({"db", "check"});
  commands.push_back({"import", "templates/toy/task.json"});
  const std::vector<std::string> before = bench.files();
  for (const auto& command : commands) {
    INFO(command.front());
    check_refused(bench.evo(with_database(command, "")), 2, {"--db", "name a file"});
    check_refused(bench.evo(with_database(command, ":memory:")), 2, {"--db", "it is lost when evo ends: name a file"});
  }
  CHECK(bench.files() == before);
}

TEST_CASE("a folder is refused as a database, by a run and by readers") {
  const ToyBench bench;
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--db", "templates", "--quiet"}), 2,
                {"templates is a folder"});
  check_refused(bench.evo({"elites", "--db", "templates"}), 2, {"templates is a folder"});
}

TEST_CASE("a place where no database can be made is refused before the search") {
  const ToyBench bench;
  bench.write("file", "a file, not a folder");
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--db", "file/evo.db", "--quiet"}), 3,
                {"file", "--db"});
  // /proc refuses new files even to root.
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--db", "/proc/evo/evo.db", "--quiet"}), 3,
                {"/proc/evo", "--db"});
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--db", "/proc/evo.db", "--quiet"}), 3,
                {"/proc/evo.db"});
}

TEST_CASE("a device without runs is refused, and the message lists the devices with runs") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet"}).code == 0);
  check_refused(bench.evo({"elites", "--device", "nope"}), 2, {"unknown device 'nope'", "vgpu:h200"});
  for (const char* device : {"vgpu", "vgpu:h200", "h200"})
    CHECK(bench.evo({"elites", "--device", device}).out.find("toy") != std::string::npos);
  CHECK(bench.evo({"elites", "--device", "cuda"}).out.starts_with("no elites"));
}

TEST_CASE("when the file to merge is no database, the message names it and not --db") {
  const Bench bench;
  make_empty_database(bench, "evo.db");
  bench.write("letter.txt", "no database, however long you look at it. " + std::string(5000, '.'));
  const Outcome outcome = bench.evo({"db", "merge", "letter.txt", "--db", "evo.db"});
  check_refused(outcome, 2, {"letter.txt is not a database"});
  CHECK(outcome.err.find("--db") == std::string::npos);
}

TEST_CASE("the commands that a run suggests at its end work as printed") {
  const ToyBench bench;
  bench.write("my dir/keep", "");
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet", "--db", "my dir/it's.db"});
  REQUIRE(outcome.code == 0);
  CHECK(outcome.out.find(R"(evo show 1 --db 'my dir/it'\''s.db')") != std::string::npos);
}

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include "tests/cli/bench.h"
#include "tests/cli/ten_lines.h"

using namespace evo::testing;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> toy_search(const std::string& task, const std::string& evals) {
  return {"run", "--task", task, "--device", "vgpu", "--evals", evals, "--seed", "1", "--quiet"};
}

/// The toy task under the name of a shipped one.
void write_shadow(const Bench& bench, const std::string& folder) {
  write_toy_task(bench);
  fs::create_directories(bench / folder);
  fs::rename(bench / "templates/toy", bench / folder / "softmax");
  if (folder != "templates") fs::remove_all(bench / "templates");
}

std::string environment_of_process(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/environ", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a process and all that it has started.
std::vector<std::string> environments_of(pid_t pid) {
  std::vector<std::string> found;
  std::vector<std::string> waiting = {std::to_string(pid)};
  while (!waiting.empty()) {
    const std::string next = waiting.back();
    waiting.pop_back();
    found.push_back(environment_of_process(next));
    std::error_code error;
    for (fs::directory_iterator task("/proc/" + next + "/task", error), end; !error && task != end;
         task.increment(error)) {
      std::ifstream children(task->path() / "children");
      for (std::string child; children >> child;) waiting.push_back(child);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a program in ./rivals is not run, and not listed as a rival") {
  const Bench bench;
  bench.write("rivals/torch", "#!/bin/sh\ntouch ran\n");
  fs::permissions(bench / "rivals/torch", fs::perms::owner_all);
  const Outcome listed = bench.evo({"baseline", "--list"});
  CHECK(listed.code == 0);
  CHECK_FALSE(holds(listed.out, bench.folder().string()));
  CHECK_FALSE(fs::exists(bench / "ran"));
}

TEST_CASE("tasks in ./templates are taken only when the folder is named") {
  const Bench bench;
  write_shadow(bench, "templates");
  const ProcessOptions unnamed{.environment = {{"EVO_TEMPLATES", ""}}};
  const Outcome shipped = bench.evo({"tasks"}, unnamed);
  CHECK(holds(shipped.out, "fp8_sdpa"));
  CHECK_FALSE(holds(shipped.out, "c = a + b"));
  CHECK(holds(bench.evo({"tasks", "--templates", "templates"}, unnamed).out, "c = a + b"));
}

TEST_CASE("a task with the name of a shipped one is said to be another in the first line and in every claim") {
  const Bench bench;
  write_shadow(bench, "other");
  const std::string remark = "not the softmax that is shipped with this evo";
  std::vector<std::string> search = toy_search("softmax", "3");
  search.insert(search.end(), {"--templates", "other"});
  const Outcome ran = bench.evo(search);
  REQUIRE(ran.code == 0);
  CHECK(holds(ran.err.substr(0, ran.err.find('\n')), remark));
  CHECK(holds(ran.out.substr(0, ran.out.find('\n')), remark));
  CHECK(holds(bench.evo({"elites"}).out, remark));
  CHECK(holds(bench.evo({"show", best_of(bench)}).out, remark));
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  CHECK(holds(bench.read("best.cu"), "CAUTION    the task is " + remark));
  CHECK(holds(bench.evo({"verify", best_of(bench)}).out, remark));
}

TEST_CASE("a task of one's own is no shadow of a shipped one") {
  const ToyBench bench;
  const Outcome ran = bench.evo(toy_search("toy", "2"));
  CHECK_FALSE(holds(ran.out + ran.err, "shipped with this evo"));
}

TEST_CASE("a few kilobytes that unpack into more than any sweep has are refused in one line", "[long]") {
  const Bench bench;
  const std::string file = (bench / "sweep.json.gz").string();
  REQUIRE(std::system(("head -c 200000000 /dev/zero | gzip > '" + file + "'").c_str()) == 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"import", "sweep.json.gz"}, {"replay", "sweep.json.gz"}})
    check_refused(bench.evo(command), 2, {"sweep.json.gz has more than 134217728 bytes when decompressed"});
}

TEST_CASE("a constraint that ties all genes together is refused before it takes minutes", "[long]") {
  const Bench bench;
  nlohmann::ordered_json genes;
  std::string sum = "0";
  const std::vector<int> primes = {7919, 104729, 1299709, 15485863, 32452843, 49979687, 67867967, 86028121};
  for (std::size_t i = 0; i < primes.size(); ++i) {
    genes["g" + std::to_string(i)] = std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    sum += " + g" + std::to_string(i) + " * " + std::to_string(primes[i]);
  }
  genes["tile"] = {1, 2};
  genes["block_size_x"] = {16, 32};
  genes["block_size_y"] = {1, 2};
  write_convolution(bench, {{"genes", genes}, {"restrict", {"(" + sum + ") % 1000003 < 500"}}});
  check_refused(bench.evo({"tune", "conv.json", "--device", "vgpu", "--evals", "1", "--quiet"}), 2,
                {"tie more genes together than can be counted"});
}

TEST_CASE("text of others does not drive the terminal") {
  const ToyBench bench;
  REQUIRE(bench.evo(toy_search("toy", "4")).code == 0);
  SQLite::Database((bench / "runs/evo.db").string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE candidate SET note = 'a' || char(27) || '[2J', op = char(27) || ']0;title' || char(7);"
          "UPDATE run SET strategy = char(155) || '31m', evo_version = char(27) || '[31m';"
          "UPDATE evaluation SET reason = 'x' || char(27) || '[31mred', notes = char(27) || 'c';"
          "UPDATE device SET name = 'H200' || char(27) || '[5m';"
          "UPDATE elite_check SET note = char(27) || '[8m'");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"runs"},
                                                  {"runs", "1"},
                                                  {"elites"},
                                                  {"show", "1"},
                                                  {"show", best_of(bench)},
                                                  {"report"},
                                                  {"lineage", best_of(bench)},
                                                  {"front", "--task", "toy"},
                                                  {"diff", "1", "2"},
                                                  {"verify", best_of(bench)},
                                                  {"export", "-o", "best.cu"}}) {
    const Outcome outcome = bench.evo(command);
    INFO(command.front() << "\n" << outcome.out << outcome.err);
    for (const char* raw : {"\x1b", "\x07", "\xc2\x9b"}) CHECK_FALSE(holds(outcome.out + outcome.err, raw));
  }
}

TEST_CASE("an architecture of a foreign database is a word where a command is printed") {
  const ToyBench bench;
  REQUIRE(bench.evo(toy_search("toy", "2")).code == 0);
  SQLite::Database((bench / "runs/evo.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE device SET arch = 'sm_90a; rm -rf ~ #'");
  check_refused(bench.evo({"export", "-o", "best.cu"}), 2, {"names no architecture"});
  CHECK(bench.evo({"db", "check"}).code == 1);
}

TEST_CASE("the model's key is in the environment of no process that has begun") {
  const ToyBench bench;
  EvoProcess search({"run", "--task", "toy", "--device", "vgpu", "--time", "1h"},
                    {.folder = bench.folder(), .environment = {{"EVO_LLM_KEY", "sk-very-secret"}}});
  std::vector<std::string> environments;
  search.wait_until([&] { return (environments = environments_of(search.pid())).size() > 1; });
  for (const std::string& environment : environments) {
    CHECK_FALSE(holds(environment, "sk-very-secret"));
  }
}

TEST_CASE("a limit of the size of files ends no process by a signal") {
  const ToyBench bench;
  const std::string line = "cd '" + bench.folder().string() +
                           "' && ulimit -f 60 && EVO_TEMPLATES=templates exec '" EVO_BINARY
                           "' run --task toy --device vgpu --evals 26 --seed 1 --quiet > log 2>&1";
  const int status = std::system(line.c_str());
  INFO(bench.read("log"));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("a header that would be compiled for minutes is refused in one line") {
  const Bench bench;
  bench.write("k.cu", "#include <middle.h>\nextern \"C\" __global__ void k(float* x) { x[0] = 1; }\n");
  bench.write("inc/middle.h", "#include \"deep/large.h\"\n");
  bench.write("inc/deep/large.h", "#define A 1\n");
  for (const char* command : {"vgpu", "sanitize"})
    CHECK(bench.evo({command, "k.cu", "-I", "inc", "--arg", "x=float[1]"}).code == 0);
  std::filesystem::resize_file(bench / "inc/deep/large.h", 64 << 20);
  for (const char* command : {"vgpu", "sanitize"})
    check_refused(bench.evo({command, "k.cu", "-I", "inc", "--arg", "x=float[1]"}), 2,
                  {"with inc/deep/large.h it has more than 16777216 bytes to be compiled"});
}

TEST_CASE("marks of direction and halves of characters do not drive the terminal either") {
  const Bench bench;
  for (const std::string mark : {"\xe2\x80\xae", "\xe2\x81\xa6", "\x9b", "\xc2", "\xe2\x80"}) {
    const Outcome outcome = bench.evo({"export", "a" + mark});
    CHECK(outcome.code == 2);
    CHECK_FALSE(holds(outcome.err, mark));
  }
  CHECK(holds(bench.evo({"export", "m\xc3\xa4\xe2\x82\xac"}).err, "m\xc3\xa4\xe2\x82\xac"));
}

TEST_CASE("a file of the author whose name no include can hold is refused by its name") {
  const Bench bench;
  write_convolution(bench, {{"kernel", "a\"b.cu:convolution"}});
  fs::copy(bench / "conv.cu", bench / "a\"b.cu");
  check_refused(bench.evo({"tune", "conv.json", "--device", "vgpu", "--evals", "1", "--quiet"}), 2,
                {"a\"b.cu' has a character that no #include can name"});
}

TEST_CASE("a quote in the path of the working folder changes nothing") {
  const Bench bench;
  fs::create_directories(bench / "a\"b 'c");
  write_convolution(bench);
  for (const char* file : {"conv.cu", "conv.json"}) fs::copy(bench / file, bench / "a\"b 'c" / file);
  const Outcome outcome = bench.evo({"tune", "a\"b 'c/conv.json", "--device", "vgpu", "--evals", "2", "--quiet"});
  CHECK(outcome.code == 0);
  const Outcome inside =
      run_evo({"tune", "conv.json", "--device", "vgpu", "--evals", "2", "--quiet"}, {.folder = bench / "a\"b 'c"});
  CHECK(inside.code == 0);
}

TEST_CASE("a worker that nobody has asked says in one line that evo starts its workers itself") {
  const Bench bench;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"worker"},
                                                {"worker", "X"},
                                                {"worker", "compile", "vgpu"},
                                                {"worker", "models", "vgpu"}})
    check_refused(bench.evo(words), 2, {"'worker' is for evo alone, which starts its workers itself"});
}

TEST_CASE("a pipe is no file of results") {
  const Bench bench;
  REQUIRE(::mkfifo((bench / "results.json").c_str(), 0600) == 0);
  check_refused(bench.evo({"import", "results.json"}), 2, {"results.json is a pipe, not a file"});
}

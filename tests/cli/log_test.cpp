// evo --log
#include <signal.h>

#include <cstdlib>
#include <regex>

#include "bench.h"

using namespace evo::testing;

namespace {

std::vector<std::string> run_of_three(const std::vector<std::string>& more) {
  std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1"};
  run.insert(run.end(), more.begin(), more.end());
  return run;
}

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

}  // namespace

TEST_CASE("a log holds the lives of workers, verdicts and the end, and the terminal shows nothing of it") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(run_of_three({"--log", "evo.log"}));
  REQUIRE(outcome.code == 0);
  for (const char* words : {"worker", "begins", "info"}) CHECK_FALSE(holds(outcome.out + outcome.err, words));
  const std::string log = bench.read("evo.log");
  INFO(log);
  const std::string time = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d )";
  CHECK(matches(log, time + R"(info \[\d+\] evo \S+ begins: evo run --task toy)"));
  CHECK(matches(log, R"(worker \d+ \(device vgpu:\S+ \d+\), .*: has opened vgpu:)"));
  CHECK(matches(log, R"(worker \d+ \(compile vgpu\), .*: has opened NVRTC)"));
  CHECK(matches(log, R"(worker \d+ \(compile vgpu\), [1-9]\d* answers in .* s: is ended)"));
  CHECK(matches(log, R"(candidate 0: valid, \S+ us, on vgpu:\S+ of .*, timing)"));
  CHECK(matches(log, R"(candidate 0: shape \S+ warm: \S+ us)"));
  CHECK(matches(log, "evo ends with code 0"));
  CHECK_FALSE(matches(log, "compile took"));
}

TEST_CASE("a log's level says how much it holds, and $EVO_LOG names one where --log does not") {
  const ToyBench bench;
  ProcessOptions options;
  options.environment = {{"EVO_LOG", "named.log"}};
  REQUIRE(bench.evo(run_of_three({"--log-level", "debug"}), options).code == 0);
  const std::string log = bench.read("named.log");
  INFO(log);
  CHECK(matches(log, R"(debug \[\d+\] worker \d+ \(compile vgpu\), .*: compile took \d+\.\d+ s)"));
  CHECK(matches(log, R"(worker \d+ \(device .*: time took)"));

  REQUIRE(bench.evo({"--log", "chosen.log", "--log-level", "warning", "tasks"}, options).code == 0);
  CHECK(bench.read("chosen.log") == "");
  CHECK(bench.read("named.log") == log);
}

TEST_CASE("workers of workers log into the same file") {
  const ToyBench bench;
  const std::string there = "sh -c 'exec \"$0\" \"$@\"'";
  REQUIRE(bench
              .evo({"run", "--task", "toy", "--devices", "vgpu:h200", "--evals", "4", "--seed", "3", "--screen", "4",
                    "--workers", there, "--log", "evo.log"})
              .code == 0);
  const std::string log = bench.read("evo.log");
  INFO(log);
  CHECK(matches(log, R"(worker \d+ \(models .* on \S+\): worker \d+ \(compile vgpu\), .*: has opened NVRTC)"));
  for (const std::string& file : bench.files()) CHECK_FALSE(file.starts_with("evo-"));
}

TEST_CASE("a worker that is killed is in the log with the signal, and so is what took its place") {
  // A search may be over before its worker is killed.
  for (bool met = false; !met;) {
    const Bench bench;
    write_toy_task(bench, true);
    EvoProcess run({"run", "--task", "toy", "--device", "vgpu", "--evals", "52", "--seed", "1", "--log", "evo.log"},
                   {.folder = bench.folder()});
    std::smatch found;
    std::string log;
    run.wait_until([&] {
      log = std::filesystem::exists(bench / "evo.log") ? bench.read("evo.log") : "";
      return std::regex_search(log, found, std::regex(R"(worker (\d+) \(device vgpu:\S+ \d+\), .*: has opened)"));
    });
    const std::string worker = found.str(1);
    met = ::kill(std::stoi(worker), SIGKILL) == 0;
    REQUIRE(run.finish().code == 0);
    if (!met) continue;
    log = bench.read("evo.log");
    CHECK(matches(log, "warning .* worker " + worker + R"( \(device .*: is lost .*: killed by SIGKILL)"));
    CHECK(matches(log, R"(\(device vgpu:\S+ \d+\), .*: has opened vgpu:\S+, start 2)"));
  }
}

TEST_CASE("a log that is full is renamed and another begun") {
  const Bench bench;
  const std::string full = "2026-11-29T12:00:00" + std::string(10 << 20, 'x');
  bench.write("evo.log", full);
  bench.write("evo.1.log", "older");
  REQUIRE(bench.evo({"--log", "evo.log", "tasks", "--templates", kTemplates}).code == 0);
  CHECK(bench.read("evo.1.log") == full);
  CHECK(bench.read("evo.2.log") == "older");
  CHECK(matches(bench.read("evo.log"), "begins: evo --log evo.log tasks"));
}

TEST_CASE("of two evo that name one log the later writes beside it") {
  const Bench bench;
  write_toy_task(bench, true);
  EvoProcess first({"run", "--task", "toy", "--device", "vgpu", "--time", "1h", "--proposer", "sleep 1000000",
                    "--proposer-deadline", "1h", "--log", "evo.log"},
                   {.folder = bench.folder()});
  first.wait_until([&] { return std::filesystem::exists(bench / "evo.log") && !bench.read("evo.log").empty(); });
  REQUIRE(bench.evo({"tasks", "--log", "evo.log"}).code == 0);
  CHECK(bench.read("evo.log").find("begins: evo tasks") == std::string::npos);
  int beside = 0;
  for (const std::string& file : bench.files()) {
    if (!std::regex_match(file, std::regex(R"(evo-\d+\.log)"))) continue;
    ++beside;
    CHECK(matches(bench.read(file), "begins: evo tasks"));
  }
  CHECK(beside == 1);
}

TEST_CASE("a log that cannot be written, or of no level, is refused in one line") {
  const Bench bench;
  check_refused(bench.evo({"tasks", "--log", "none/evo.log"}), 2, {"log none/evo.log", "No such file"});
  check_refused(bench.evo({"tasks", "--log", "."}), 2, {"log .", "directory"});
  check_refused(bench.evo({"tasks", "--log", "evo.log", "--log-level", "loud"}), 2, {"--log-level", "loud"});
  ProcessOptions options;
  options.environment = {{"EVO_LOG", "none/evo.log"}};
  check_refused(bench.evo({"tasks"}, options), 2, {"log none/evo.log"});
  CHECK(bench.files().empty());
}

TEST_CASE("a log that cannot grow is named once, and the program goes on") {
  const ToyBench bench;
  // The shell's unit is 512 bytes, and so many are there.
  bench.write("evo.log", "2026-01-01 " + std::string(500, '-') + "\n");
  const std::string command = "cd '" + bench.folder().string() +
                              "' && trap '' XFSZ && ulimit -f 1 && " EVO_BINARY
                              " tasks --templates templates --log evo.log 2> errors | cat > out";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(holds(bench.read("out"), "toy"));
  CHECK(matches(bench.read("errors"), "^evo: the log lacks lines: [^\n]*evo.log[^\n]*: File too large\n$"));
}

TEST_CASE("a file that holds something else than a log is refused and not changed") {
  const Bench bench;
  bench.write("kernel.json", "{}");
  check_refused(bench.evo({"tasks", "--log", "kernel.json"}), 2, {"log kernel.json", "something else than a log"});
  CHECK(bench.read("kernel.json") == "{}");
}

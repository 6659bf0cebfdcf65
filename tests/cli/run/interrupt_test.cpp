#include <fmt/format.h>

#include <csignal>
#include <ctime>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// Long enough that it cannot end by itself before the signal comes.
const std::vector<std::string> kLongRun = {"run",     "--task", "toy",    "--device", "vgpu",
                                           "--evals", "52",     "--seed", "1",        "--progress"};

ProcessOptions in(const Bench& bench) {
  return {.folder = bench.folder()};
}

/// What a process has used of the CPU so far.
double cpu_seconds_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

TEST_CASE("Ctrl-C ends a run cleanly, and a message says how to resume it") {
  const Bench bench;
  write_toy_task(bench, true);
  EvoProcess process(kLongRun, in(bench));
  process.wait_for_error_text("(new best)");
  process.send(SIGINT);
  const Outcome outcome = process.finish();
  CHECK(outcome.code == 130);
  CHECK(outcome.err.find("finishing what is in flight") != std::string::npos);
  CHECK(outcome.out.find("evo run --resume 1") != std::string::npos);
  const auto run = bench.json({"runs"})["runs"][0];
  CHECK(run["status"] == "interrupted");
  CHECK(run["evaluated"] > 0);
  CHECK(run["evaluated"] < 52);
}

TEST_CASE("an interrupted run that is resumed gives the results of an uninterrupted run", "[long]") {
  const Bench interrupted, whole;
  write_toy_task(interrupted, true);
  write_toy_task(whole, true);
  REQUIRE(whole.evo(kLongRun).code == 0);
  {
    EvoProcess process(kLongRun, in(interrupted));
    process.wait_for_error_text("(new best)");
    process.send(SIGTERM);
    REQUIRE(process.finish().code == 130);
  }
  const Outcome outcome = interrupted.evo({"run", "--resume", "1"});
  REQUIRE(outcome.code == 0);
  const auto essence = [](const Bench& bench) {
    nlohmann::json rows = nlohmann::json::array();
    const nlohmann::json elites = bench.json({"elites"});
    for (const auto& elite : elites["elites"]) rows.push_back({elite["genome"], elite["latency_us"]});
    return rows;
  };
  CHECK(essence(interrupted) == essence(whole));
  CHECK(interrupted.json({"runs"})["runs"][0]["evaluated"] == 52);
  CHECK(interrupted.json({"runs"})["runs"][0]["status"] == "finished");
}

TEST_CASE("a second Ctrl-C ends the run at once, and every recorded result is kept", "[long]") {
  const Bench bench;
  write_toy_task(bench, true);
  EvoProcess process(kLongRun, in(bench));
  process.wait_for_error_text("(new best)");
  process.send(SIGINT);
  process.wait_for_error_text("Ctrl-C again stops at once");
  process.send(SIGINT);
  const Outcome outcome = process.finish();
  CHECK(outcome.code == 130);
  const auto run = bench.json({"runs"})["runs"][0];
  CHECK(run["evaluated"] > 0);
  CHECK(bench.evo({"run", "--resume", "1", "--quiet"}).code == 0);
  CHECK(bench.json({"runs"})["runs"][0]["evaluated"] == 52);
}

TEST_CASE("one Ctrl-C ends a run that counts the genomes of a constraint over a hash") {
  const Bench bench;
  write_toy_task(bench);
  // 40 genes of 4 alleles: nearly every partial genome leaves another constraint.
  std::string genes, hash = "0";
  for (int i = 0; i < 40; ++i) {
    genes += fmt::format(R"({{"name": "g{}", "values": [0, 1, 2, 3]}}, )", i);
    hash = fmt::format("({} * 31 + g{} * {}) % 1000003", hash, i, 7919 + 2 * i);
  }
  bench.change("templates/toy/plain/family.json", R"("genes": [)", R"("genes": [)" + genes);
  bench.change("templates/toy/plain/family.json", R"("constraints": [)",
               fmt::format(R"("constraints": [{{"that": "{} < 17", "why": "it is a bomb"}}, )", hash));
  EvoProcess process(kLongRun, in(bench));
  process.wait_for_error_text("counting legal genomes\n");
  process.send(SIGINT);
  const Outcome outcome = process.finish();
  CHECK(outcome.signal == SIGINT);
  CHECK(outcome.err == "toy on vgpu:h200: counting legal genomes\n");
  CHECK(!std::filesystem::exists(bench / "runs"));
}

TEST_CASE("a killed run can be resumed", "[long]") {
  const Bench bench;
  write_toy_task(bench, true);
  {
    EvoProcess process(kLongRun, in(bench));
    process.wait_for_error_text("(new best)");
    process.send(SIGKILL);
    REQUIRE(process.finish().signal == SIGKILL);
  }
  CHECK(bench.json({"runs"})["runs"][0]["status"] == "interrupted");
  const Outcome outcome = bench.evo({"run", "--resume", "1", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK(bench.json({"runs"})["runs"][0]["evaluated"] == 52);
}

namespace {

/// A run whose proposer and the proposer's child never end. They hold evo's standard error, so EvoProcess::finish()
/// waits for their end, too.
Outcome ended_while_a_proposer_computes(const Bench& bench, int signal, bool twice = false) {
  std::vector<std::string> arguments = kLongRun;
  for (const char* more :
       {"--proposer", "sleep 1000 & echo thinking >&2; sleep 1000 | cat", "--proposer-deadline", "1h"})
    arguments.push_back(more);
  EvoProcess process(arguments, in(bench));
  process.wait_for_error_text("thinking");
  process.send(signal);
  if (twice) process.send(signal);
  return process.finish();
}

}  // namespace

TEST_CASE("Ctrl-C ends a run while its proposer computes, and the proposer and its children end too") {
  const Bench bench;
  write_toy_task(bench, true);
  CHECK(ended_while_a_proposer_computes(bench, SIGINT).code == 130);
  const auto run = bench.json({"runs"})["runs"][0];
  CHECK(run["status"] == "interrupted");
  CHECK(run["evaluated"] < 52);
  const Bench again;
  write_toy_task(again, true);
  CHECK(ended_while_a_proposer_computes(again, SIGTERM, true).code == 130);
}

TEST_CASE("a proposer and its children end when evo is killed") {
  const Bench bench;
  write_toy_task(bench, true);
  CHECK(ended_while_a_proposer_computes(bench, SIGKILL).signal == SIGKILL);
}

TEST_CASE("a run that has reached its time limit does not wait for its proposer") {
  const Bench bench;
  write_toy_task(bench, true);
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--time", "1s", "--proposer",
                                     "sleep 1000", "--proposer-deadline", "1h"});
  const auto run = bench.json({"runs"})["runs"][0];
  CHECK(run["status"] == "finished");
  CHECK(run["evaluated"] < 52);
}

#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kBusy = "dram__throughput.avg.pct_of_peak_sustained_elapsed";

void search(const Bench& bench, const std::vector<std::string>& more = {}) {
  write_toy_task(bench);
  std::vector<std::string> command = {"run",     "--task", "toy",    "--device", "vgpu",
                                      "--evals", "6",      "--seed", "1",        "--quiet"};
  command.insert(command.end(), more.begin(), more.end());
  const Outcome outcome = bench.evo(command);
  REQUIRE(outcome.code == 0);
}

std::string best(const Bench& bench) {
  return std::to_string(bench.json({"elites"})["elites"][0]["candidate"].get<int>());
}

}  // namespace

TEST_CASE("a profile on the virtual GPU is modelled, says so, and is kept with the candidate") {
  const Bench bench;
  search(bench);
  const std::string id = best(bench);
  CHECK(bench.json({"show", id})["profiles"].empty());
  const Outcome outcome = bench.evo({"profile", id});
  REQUIRE(outcome.code == 0);
  for (const char* part : {"on vgpu:h200", "modelled", "device memory", "warps: ", "sm__inst_executed.sum", "bound by"})
    CHECK_THAT(outcome.out, ContainsSubstring(part));
  CHECK_THAT(outcome.out, !ContainsSubstring("measured"));
  const auto kept = bench.json({"show", id})["profiles"];
  REQUIRE(kept.size() == 1);
  CHECK(kept[0]["launches"][0]["modelled"]["counters"].contains(kBusy));
  CHECK(kept[0]["launches"][0]["measured"].is_null());
  CHECK_THAT(bench.evo({"show", id}).out, ContainsSubstring("modelled: bound by"));
}

TEST_CASE("a profile as JSON has the counters, the warp states and what bounds each launch") {
  const Bench bench;
  search(bench);
  const auto profile = bench.json({"profile", best(bench)});
  const auto& kernel = profile["kernels"][0];
  CHECK(kernel["task"] == "toy");
  CHECK(kernel["device"]["id"] == "vgpu:h200");
  const auto& launch = kernel["shapes"][0]["launches"][0];
  const auto& modelled = launch["modelled"];
  CHECK(modelled["counters"][kBusy].get<double>() >= 0);
  double whole = 0;
  for (const auto& [state, percent] : modelled["warp_states"].items()) whole += percent.get<double>();
  CHECK(whole > 99.9);
  CHECK(whole < 100.1);
  CHECK_THAT(modelled["bound"]["in_words"].get<std::string>(), ContainsSubstring("bound by"));
}

TEST_CASE("an exported file can be profiled, also on another device") {
  const Bench bench;
  search(bench);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  const auto here = bench.json({"profile", "best.cu"});
  const auto there = bench.json({"profile", "best.cu", "--device", "vgpu:h100"});
  CHECK(here["kernels"][0]["device"]["id"] == "vgpu:h200");
  CHECK(there["kernels"][0]["device"]["id"] == "vgpu:h100");
}

TEST_CASE("a run with --profile reads the counters of every n-th candidate and of the elites") {
  const Bench bench;
  search(bench, {"--profile", "2"});
  const auto outcomes = bench.json({"runs", "1"})["runs"][0]["outcomes"];
  std::size_t valid = 0, elites = 0;
  for (const auto& outcome : outcomes) {
    if (outcome["verdict"] != "valid") continue;
    const auto shown = bench.json({"show", std::to_string(outcome["candidate"].get<int>())});
    const bool elite = !shown["elite_rank"].is_null();
    elites += elite;
    INFO(shown.dump());
    CHECK(shown["profiles"].empty() == (valid % 2 != 0 && !elite));
    ++valid;
  }
  CHECK(valid > 3);
  CHECK(elites == 3);
}

TEST_CASE("what cannot be profiled is refused in one line") {
  const Bench bench;
  search(bench);
  check_refused(bench.evo({"profile", "99"}), 2, {"candidate 99"});
  check_refused(bench.evo({"profile", "nothing.cu"}), 2, {"nothing.cu"});
  check_refused(bench.evo({"profile", "1", "--device", "vgpu:h300"}), 2, {"h300"});
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--profile", "often"}), 2,
                {"--profile", "often"});
}

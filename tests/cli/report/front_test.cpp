#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// Searches of the toy task for both of its objectives.
void search_both(const Bench& bench) {
  write_toy_task(bench);
  for (const char* objective : {"latency", "accurate"}) {
    const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "4", "--seed", "1",
                                       "--objective", objective, "--quiet"});
    REQUIRE(outcome.code == 0);
  }
}

}  // namespace

TEST_CASE("a front puts the results of all objectives beside rivals") {
  const Bench bench;
  search_both(bench);
  bench.write("rivals.jsonl",
              "{\"name\": \"slow but exact\", \"shape\": \"middle\", \"us\": 1000, \"error\": 1e-9}\n\n"
              "{\"name\": \"elsewhere\", \"shape\": \"large\", \"us\": 1, \"error\": 0.5}\n");
  const nlohmann::json json = bench.json({"front", "--task", "toy", "--rivals", "rivals.jsonl", "--svg", "front.svg"});
  REQUIRE(json["fronts"].size() == 1);
  const nlohmann::json& front = json["fronts"][0];
  CHECK(front["shape"] == "middle");
  CHECK(front["timing"] == "modelled");
  REQUIRE(front["rivals"].size() == 1);
  CHECK(front["rivals"][0]["name"] == "slow but exact");
  // Sorted by latency; each one on the front is more accurate than the faster ones, and no other is.
  double latency = 0, least_error = 1e9;
  bool ended = false;
  std::size_t on_front = 0;
  for (const nlohmann::json& point : front["candidates"]) {
    ended = ended || !point["on_front"];
    CHECK(point["on_front"] == !ended);
    if (!point["on_front"]) continue;
    CHECK(point["latency_us"] >= latency);
    CHECK(point["error"] < least_error);
    latency = point["latency_us"];
    least_error = point["error"];
    ++on_front;
  }
  CHECK(on_front >= 1);
  for (const nlohmann::json& point : front["candidates"])
    if (!point["on_front"]) CHECK(point["error"] >= least_error);
  const std::string svg = bench.read("front.svg");
  CHECK(svg.find("slow but exact") != std::string::npos);
  CHECK(svg.find("relative L2 error, regime normal") != std::string::npos);
  CHECK(bench.json({"front", "--task", "toy", "--device", "vgpu"})["fronts"].size() == 1);
  CHECK(bench.json({"front", "--task", "toy", "--device", "h200"})["fronts"].size() == 1);
  check_refused(bench.evo({"front", "--task", "toy", "--device", "cuda"}), 2, {"no results of task toy", "on cuda"});
  const Outcome text = bench.evo({"front", "--task", "toy", "--rivals", "rivals.jsonl"});
  CHECK(text.out.find("slow but exact") != std::string::npos);
}

TEST_CASE("a front without results and rivals that cannot be read are refused") {
  const Bench bench;
  search_both(bench);
  check_refused(bench.evo({"front", "--task", "toy", "--shape", "large"}), 2, {"no results of task toy", "large"});
  check_refused(bench.evo({"front", "--task", "toy", "--regime", "odd"}), 2, {"regime odd"});
  check_refused(bench.evo({"front", "--task", "toy", "--rivals", "none.jsonl"}), 2, {"cannot read none.jsonl"});
  bench.write("rivals.jsonl", "{\"name\": \"a\", \"shape\": \"middle\", \"us\": 1}\n");
  check_refused(bench.evo({"front", "--task", "toy", "--rivals", "rivals.jsonl"}), 2, {"rivals.jsonl:1", "error"});
}

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench.h"

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

TEST_CASE("a rival beside the front may err by more than the objective admits, but not be wrong") {
  const Bench bench;
  search_both(bench);
  bench.write("rival.py", R"python(import array, json, sys
FACTORS = {"right": 1.0, "inaccurate": 1.03, "wrong": 2.0}
for line in sys.stdin:
    message = json.loads(line)
    answer = {"us": 1.0}
    if message["type"] == "task":
        answer = {"rivals": [{"name": name, "version": "3"} for name in FACTORS]}
    elif message["type"] == "run":
        for files in message["sets"]:
            a, b = (array.array("f", open(tensor["file"], "rb").read()) for tensor in files["inputs"])
            with open(files["outputs"][0]["file"], "wb") as file:
                array.array("f", [(x + y) * FACTORS[message["rival"]] for x, y in zip(a, b)]).tofile(file)
        answer = {}
    print(json.dumps(answer), flush=True)
)python");
  REQUIRE(bench.evo({"baseline", "--rival", "python3 rival.py", "--rounds", "3"}).code == 0);
  std::map<std::string, double> errors;
  const nlohmann::json json = bench.json({"front", "--task", "toy"});
  for (const nlohmann::json& rival : json["fronts"][0]["rivals"]) errors[rival["name"]] = rival["error"];
  REQUIRE(errors.size() == 2);
  CHECK(errors.at("right") < 1e-6);
  CHECK(errors.at("inaccurate") > 0.029);
  CHECK(errors.at("inaccurate") < 0.031);
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

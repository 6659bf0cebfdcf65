// evo run --devices
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "bench.h"

using namespace evo::testing;

namespace {

std::string list_of_devices(int count) {
  std::string list = "vgpu:h200";
  for (int i = 1; i < count; ++i) list += ",vgpu:h200";
  return list;
}

nlohmann::json run_on(const Bench& bench, int devices, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"run",     "--task", "toy",    "--devices", list_of_devices(devices),
                                        "--evals", "16",     "--seed", "3",         "--in-flight",
                                        "8",       "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return bench.json(arguments);
}

/// What must not depend on the number of devices.
nlohmann::json essence(const Bench& bench, const nlohmann::json& run) {
  nlohmann::json essence = {{"best", run["best"]["latency_us"]}, {"verdicts", run["verdicts"]}};
  for (const auto& elite : run["elites"])
    essence["elites"].push_back({elite["genome"], elite["latency_us"], elite["candidate"], elite["source_hash"]});
  for (const auto& outcome : outcomes(bench, "runs/evo.db"))
    essence["outcomes"].push_back({outcome["ticket"], outcome["op"], outcome["verdict"], outcome["latency_us"]});
  return essence;
}

}  // namespace

TEST_CASE("a seed gives the same modelled search on one virtual GPU and on eight") {
  const Bench one, eight;
  write_toy_task(one, true);
  write_toy_task(eight, true);
  const nlohmann::json on_one = run_on(one, 1), on_eight = run_on(eight, 8);
  CHECK(essence(one, on_one) == essence(eight, on_eight));
  CHECK(on_eight["run"]["answers"] == "asked");
  CHECK(on_eight["run"]["further_devices"].size() == 7);
  CHECK(on_one["run"]["further_devices"].empty());
}

TEST_CASE("a run whose results come as they finish can be resumed") {
  const Bench bench;
  write_toy_task(bench);
  const nlohmann::json first = run_on(bench, 3, {"--answers", "finished"});
  CHECK(first["run"]["answers"] == "finished");
  const nlohmann::json second = bench.json({"run", "--resume", "1", "--evals", "22", "--quiet"});
  CHECK(second["run"]["evaluated"] == 22);
  CHECK(second["run"]["further_devices"].size() == 2);
  std::set<int> tickets;
  for (const auto& outcome : outcomes(bench, "runs/evo.db")) tickets.insert(outcome["ticket"].get<int>());
  CHECK(tickets.size() == 22);
  CHECK(*tickets.rbegin() == 21);
}

TEST_CASE("a run says what each device evaluated, and a candidate where it ran") {
  const Bench bench;
  write_toy_task(bench);
  const nlohmann::json run = run_on(bench, 2);
  int evaluated = 0;
  for (const auto& device : run["devices"]) {
    CHECK(device["device"] == "vgpu:h200");
    CHECK_FALSE(device["host"].get<std::string>().empty());
    evaluated += device["evaluated"].get<int>();
  }
  const nlohmann::json& verdicts = run["verdicts"];
  CHECK(evaluated == 16 - verdicts.value("duplicate", 0) - verdicts.value("compile_failed", 0));
  const nlohmann::json place = bench.json({"show", best_of(bench)})["evaluation"]["ran_on"];
  CHECK(place["device"] == "vgpu:h200");
}

TEST_CASE("lists of devices that make no sense are refused") {
  const Bench bench;
  write_toy_task(bench);
  const auto refused = [&](std::vector<std::string> arguments, int code, const std::vector<std::string>& parts) {
    arguments.insert(arguments.begin(), {"run", "--task", "toy"});
    check_refused(bench.evo(arguments), code, parts);
  };
  refused({"--devices", "vgpu:h200,vgpu:l4"}, 2, {"vgpu:l4", "devices of one model"});
  refused({"--devices", "vgpu:h200", "--device", "vgpu"}, 2, {"--device and --devices cannot be combined"});
  refused({"--devices", "cuda:all"}, 3, {"cuda:all: "});
  refused({"--devices", "tpu:all"}, 2, {"'tpu:all'", "cuda, vgpu"});
  refused({"--devices", "vgpu:h200,"}, 2, {"is no device"});
  refused({"--devices", "vgpu", "--answers", "sometimes"}, 2, {"--answers sometimes: expected asked or finished"});
  refused({"--devices", "vgpu", "--in-flight", "0"}, 2, {"--in-flight"});
  refused({"--devices", "vgpu", "--answers", "finished", "--proposer", "cat"}, 2, {"--answers finished"});
}

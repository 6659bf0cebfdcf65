#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench.h"
#include "process.h"

using namespace evo::testing;

namespace {

const std::string kSweeps = EVO_TEST_DATA "/sweeps/";
const std::string kWgmma = kSweeps + "fp8_sdpa_wgmma_1_8_512_64_h200.json.gz";
const std::string kMmaSync = kSweeps + "fp8_sdpa_mma_sync_1_8_512_64_h200.json.gz";

nlohmann::json fits(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"model", "--templates", EVO_SOURCE_DIR "/templates", "--json"});
  const Outcome outcome = run_evo(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.out)["sweeps"];
}

}  // namespace

TEST_CASE("the model ranks kernels as an H200 did, and finds the fastest among the first") {
  const auto sweeps = fits({"--against", kWgmma, "--against", kMmaSync, "--limit", "24"});
  REQUIRE(sweeps.size() == 2);
  for (const auto& sweep : sweeps) {
    INFO(sweep.dump());
    CHECK(sweep["device"] == "vgpu:h200");
    CHECK(sweep["shape"] == "1,8,512,64");
    CHECK(sweep["genomes"] == 24);
    CHECK(sweep["failed"] == 0);
    CHECK(sweep["spearman"].get<double>() > 0.5);
    CHECK(sweep["ahead_of_best"].get<double>() <= 0.35);
  }
  CHECK(sweeps[0]["family"] == "wgmma");
  CHECK(sweeps[1]["family"] == "mma_sync");
}

TEST_CASE("drawings that follow each other have no genome in common; kept programs change nothing") {
  const Bench bench;
  const auto csv = [&](const std::string& skip, const std::string& file) {
    fits({"--against", kMmaSync, "--limit", "2", "--skip", skip, "--keep", (bench / "kept").string(), "--csv",
          (bench / file).string()});
    return bench.read(file);
  };
  const std::string first = csv("0", "a.csv");
  CHECK(first == csv("0", "b.csv"));
  CHECK(first != csv("2", "c.csv"));
  CHECK(bench.files().size() == 3 + 4);
}

TEST_CASE("evo model refuses what is no sweep of a known task in one line") {
  const Bench bench;
  check_refused(run_evo({"model"}), 2, {"--against"});
  check_refused(run_evo({"model", "--against", "nothing.json"}), 2, {"no file nothing.json"});
  bench.write("list.json", "[1, 2]");
  check_refused(bench.evo({"model", "--templates", EVO_SOURCE_DIR "/templates", "--against", "list.json"}), 2,
                {"list.json", "Kernel Tuner"});
  const auto sweep = [](const std::string& task, const std::string& gene) {
    return R"({"schema_version": "1.1.0", "device_name": "NVIDIA H200", "kernel_name": ")" + task +
           R"(", "problem_size": [1, 8, 512, 64], "tune_params_keys": [")" + gene +
           R"("], "tune_params": {")" + gene + R"(": [1, 2]}, "objective": "time", "cache": {"1": {")" +
           gene + R"(": 1, "time": 1.0}, "2": {")" + gene + R"(": 2, "time": 2.0}}})";
  };
  bench.write("task.json", sweep("no_task", "x"));
  check_refused(bench.evo({"model", "--templates", EVO_SOURCE_DIR "/templates", "--against", "task.json"}), 2,
                {"no_task"});
  bench.write("gene.json", sweep("fp8_sdpa", "x"));
  check_refused(bench.evo({"model", "--templates", EVO_SOURCE_DIR "/templates", "--against", "gene.json"}), 2,
                {"no family of the task fp8_sdpa"});
}

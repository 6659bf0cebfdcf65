#include <catch2/generators/catch_generators.hpp>

#include "bench.h"

using namespace evo::testing;

TEST_CASE("a search of fp8_qkt ends with elites that can be shown, exported and verified", "[long]") {
  const Bench bench;
  // The best of this seed multiplies in f16. Sums of e4m3 products can miss the relative limit at the shape of one
  // score a head, where a score may cancel to nearly nothing: `verify` would refuse one on some draws.
  const Outcome run = bench.evo({"run", "--task", "fp8_qkt", "--device", "vgpu:l4", "--evals", "5", "--seed", "3",
                                 "--templates", kTemplates, "--quiet"},
                                kChecksElites);
  REQUIRE(run.code == 0);
  const nlohmann::json elites = bench.json({"elites"})["elites"];
  REQUIRE_FALSE(elites.empty());
  CHECK(elites[0]["device"]["id"] == "vgpu:l4");
  CHECK(elites[0]["relative_l2"] < 0.001);
  const std::string best = std::to_string(elites[0]["candidate"].get<int>());
  CHECK(bench.evo({"show", best}).code == 0);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  CHECK(bench.read("best.cu").find("evo_fp8_qkt(") != std::string::npos);
  const Outcome verified = bench.evo({"verify", "best.cu"});
  CHECK(verified.code == 0);
}

TEST_CASE("the shipped tasks load, and their spaces are large") {
  const Bench bench;
  const nlohmann::json tasks = bench.json({"tasks", "--templates", kTemplates})["tasks"];
  REQUIRE(tasks.size() >= 2);
  for (const auto& task : tasks) {
    INFO(task);
    CHECK(task["problem"].is_null());
  }
  CHECK(bench.json({"space", "--task", "fp8_sdpa", "--device", "vgpu", "--templates", kTemplates})["legal"] > 100'000);
}

TEST_CASE("a shape that is too much work for the virtual GPU is refused at once, with one that is not") {
  const Bench bench;
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--device", "vgpu", "--shapes", "decode", "--templates", kTemplates});
    check_refused(bench.evo(arguments), 2,
                  {"shape decode is too much work for the virtual GPU: 2.1 times", "such as small", "--device"});
  };
  refused({"run", "--task", "fp8_attention"});
  refused({"attack", "fp8_attention"});
  bench.write("solution.json", "{}");
  refused({"verify", "solution.json", "--task", "fp8_attention"});
  CHECK(bench.files() == std::vector<std::string>{"solution.json"});
}

TEST_CASE("evo tasks prints the limits of each objective") {
  const Bench bench;
  const std::string tasks = bench.evo({"tasks", "--templates", kTemplates}).out;
  INFO(tasks);
  CHECK(tasks.find("accurate (relative L2 <= 0.000975, largest <= 0.000975 of the RMS)") != std::string::npos);
  CHECK(tasks.find("accurate (relative L2 <= 0.026)") != std::string::npos);
}

TEST_CASE("the families of fp8_sdpa say which head dimensions they have") {
  const Bench bench;
  for (const std::string family : {"mma_sync", "wgmma"}) {
    for (const std::string depth : {"32", "96", "192"}) {
      const Outcome run = bench.evo({"run", "--task", "fp8_sdpa", "--family", family, "--device", "vgpu", "--shapes",
                                     "1,2,128," + depth, "--templates", kTemplates});
      INFO(family << ": " << run.err);
      CHECK(run.code == 2);
      CHECK(run.err.find("no genome of " + family + " keeps all constraints: head dimensions are 64, 128 and 256") !=
            std::string::npos);
    }
  }
}

TEST_CASE("each shipped task has a recorded pass of its self-test for each kind of device") {
  const std::string kind = GENERATE("vgpu", "cuda");
  const Bench bench;
  const nlohmann::json tasks = bench.json({"tasks", "--templates", kTemplates})["tasks"];
  for (const auto& task : tasks) {
    const std::string name = task["name"];
    std::ifstream file(kTemplates + "/" + name + "/mutants/passed/" + kind + ".json");
    const std::string device = kind == "cuda" ? "cuda:0" : kind;
    // A GPU is not always there when a task is added.
    if (!file && kind == "cuda") SKIP(name << ": evo selftest --task " << name << " --record --device " << device);
    const nlohmann::json pass = nlohmann::json::parse(file);
    CHECK(pass["judged"].get<int>() > 0);
    // The pass of an edited kernel is repeated before it is shipped, not after each edit.
    if (pass["task_hash"] != task["hash"])
      SKIP(name << " has changed since: evo selftest --task " << name << " --record --device " << device);
  }
}

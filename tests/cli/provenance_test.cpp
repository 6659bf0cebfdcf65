#include "bench.h"

using namespace evo::testing;

TEST_CASE("evo show, its JSON and the exported file give the versions, flags and seeds of a result") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--seed", "77", "--quiet"}).code == 0);
  const nlohmann::json json = bench.json({"show", "1"});
  const nlohmann::json& run = json["run"];
  const std::string hash = run["task_hash"];
  const std::string salt = json["evaluation"]["salt"];
  const std::string flags = json["evaluation"]["builds"][0]["flags"];
  const std::string nvrtc = run["nvrtc_version"];
  CHECK(run["seed"] == 77);
  CHECK(flags.find("--gpu-architecture=sm_90a") != std::string::npos);
  CHECK(flags.find("--std=c++17") != std::string::npos);
  const nlohmann::json& timing = json["evaluation"]["timings"][0];
  CHECK(timing["sm_mhz_low"].is_null());  // A virtual GPU has no clock that changes.
  CHECK(timing["memory_mhz"].is_null());
  CHECK(timing["other_processes"] == 0);

  const std::string text = bench.evo({"show", "1"}).out;
  for (const std::string& part : {hash, salt, flags, "NVRTC " + nvrtc, std::string("run 77")}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }

  REQUIRE(bench.evo({"export", "1", "-o", "best.cu"}).code == 0);
  const std::string exported = bench.read("best.cu");
  for (const std::string& part : {hash, salt, "NVRTC " + nvrtc, std::string("--std=c++17 --generate-line-info")}) {
    INFO(part);
    CHECK(exported.find(part) != std::string::npos);
  }
  CHECK(bench.evo({"verify", "best.cu"}).code == 0);
}

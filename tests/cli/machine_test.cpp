#include "bench.h"

using namespace evo::testing;

namespace {
const ProcessOptions kWithoutNvrtc{.environment = {{"EVO_NVRTC", "/nonexistent"}}};
}

TEST_CASE("a GPU that this machine does not have is refused") {
  const ToyBench bench;
  const std::vector<std::string> before = bench.files();
  check_refused(bench.evo({"run", "--task", "toy", "--device", "cuda:0"}), 3, {"cuda:0", "--device vgpu"});
  check_refused(bench.evo({"space", "--task", "toy", "--device", "cuda:0"}), 3, {"cuda:0"});
  CHECK(bench.files() == before);
}

TEST_CASE("without NVRTC a run is refused, and the message says how to install it") {
  const ToyBench bench;
  const std::vector<std::string> before = bench.files();
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu"}, kWithoutNvrtc), 3, {"NVRTC", "/nonexistent"});
  CHECK(bench.files() == before);
}

TEST_CASE("commands that compile nothing work without NVRTC") {
  const ToyBench bench;
  CHECK(bench.evo({"tasks"}, kWithoutNvrtc).code == 0);
  CHECK(bench.evo({"space", "--task", "toy", "--device", "vgpu"}, kWithoutNvrtc).code == 0);
}

TEST_CASE("evo doctor says what works and what this machine lacks") {
  const ToyBench bench;
  const nlohmann::json json = bench.json({"doctor"});
  CHECK(json["can_run"] == true);
  CHECK(json["can_measure"] == false);
  const auto check_of = [&](const std::string& name) {
    for (const auto& check : json["checks"]) {
      if (check["name"] == name) return check;
    }
    return nlohmann::json();
  };
  CHECK(check_of("NVRTC")["ok"] == true);
  CHECK(check_of("virtual GPU")["ok"] == true);
  CHECK(check_of("templates")["found"] == "toy in templates");
  CHECK(check_of("database")["ok"] == true);
  CHECK(check_of("NVIDIA driver")["ok"] == false);
  CHECK(check_of("NVIDIA driver")["fix"].is_string());
  for (const char* tool : {"nvcc", "torch", "libcurl"}) CHECK(check_of(tool)["ok"].is_boolean());
  // It leaves no file behind.
  CHECK(bench.files().size() == 4);
  const Outcome text = bench.evo({"doctor"});
  CHECK(text.code == 0);
  CHECK(text.out.find("on the virtual GPU: latencies are modelled") != std::string::npos);
}

TEST_CASE("evo doctor exits with 3 when nothing can run") {
  const ToyBench bench;
  const Outcome without_nvrtc = bench.evo({"doctor"}, kWithoutNvrtc);
  CHECK(without_nvrtc.code == 3);
  CHECK(without_nvrtc.out.find("/nonexistent") != std::string::npos);
  CHECK(without_nvrtc.out.find("cannot run on this machine") != std::string::npos);
  const Outcome without_templates = bench.evo({"doctor", "--templates", "absent"});
  CHECK(without_templates.code == 3);
  CHECK(without_templates.out.find("'absent' is no folder") != std::string::npos);
}

TEST_CASE("evo doctor reports a malformed task and a file that is no database") {
  const ToyBench bench;
  bench.write("templates/broken/task.json", "[]");
  bench.write("runs/evo.db", "no database");
  const Outcome outcome = bench.evo({"doctor"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("task broken") != std::string::npos);
  CHECK(outcome.out.find("choose another place with --db") != std::string::npos);
}

TEST_CASE("output that cannot be written is an error") {
  // A full device refuses everything.
  const ToyBench bench;
  check_refused(bench.evo({"tasks", "--json"}, {.output = "/dev/full"}), 3, {"standard output", "No space left"});
}

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// The toy task with a generous limit, and an emulation that drops all but seven bits behind the leading one.
void write_calibrated_toy(const Bench& bench) {
  write_toy_task(bench);
  bench.change("templates/toy/task.json", "\"relative_l2\": 0.0001, \"cosine\": 0.9999",
               "\"relative_l2\": 0.1, \"cosine\": 0.99");
  bench.write("templates/toy/limits.json", R"json({
    "emulation": {"about": "the sum is cut", "edits": [
      {"find": "c[i] = a[i] + b[i]", "replace": "c[i] = __int_as_float(__float_as_int(a[i] + b[i]) & 0xffff0000)"}]},
    "factor": 2
  })json");
}

void cut_kernel_to(const Bench& bench, const std::string& mask) {
  std::string kernel = bench.read("templates/toy/plain/kernel.cu");
  const std::string sum = "a[i${item}] ${wrong ? '-' : '+'} b[i${item}]";
  kernel.replace(kernel.find(sum), sum.size(),
                 "__int_as_float(__float_as_int(a[i${item}] + b[i${item}]) & " + mask + ")");
  bench.write("templates/toy/plain/kernel.cu", kernel);
}

Outcome run_calibrated_toy(const Bench& bench) {
  return bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"});
}

const std::vector<std::string> kCalibrate = {"selftest", "--task", "toy", "--device", "vgpu", "--calibrate"};

}  // namespace

TEST_CASE("limits come from the measured floor of an honest emulation, with their provenance") {
  const Bench bench;
  write_calibrated_toy(bench);
  const Outcome outcome = bench.evo(kCalibrate);
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.out, "peaked"));
  const auto json = nlohmann::json::parse(bench.read("templates/toy/limits.json"));
  for (const auto& [regime, limits] : json["regimes"].items()) {
    INFO(regime);
    CHECK(limits["floor_relative_l2"] > 0.001);
    CHECK(limits["floor_relative_l2"] < 0.008);
    CHECK(limits["relative_l2"] == 2 * limits["floor_relative_l2"].get<double>());
    CHECK(limits["cosine"] < limits["floor_cosine"]);
  }
  CHECK(json["measured"]["device"] == "NVIDIA H200 (virtual)");
  CHECK(json["emulation"]["about"] == "the sum is cut");
  // Measured twice it is the same.
  const std::string first = bench.read("templates/toy/limits.json");
  REQUIRE(bench.evo(kCalibrate).code == 0);
  CHECK(bench.read("templates/toy/limits.json") == first);
}

TEST_CASE("measured limits replace the task's") {
  const Bench honest, cut, before;
  for (const Bench* bench : {&honest, &cut}) {
    write_calibrated_toy(*bench);
    REQUIRE(bench->evo(kCalibrate).code == 0);
  }
  write_calibrated_toy(before);
  CHECK(run_calibrated_toy(honest).code == 0);
  cut_kernel_to(cut, "0xfff80000");  // Four bits: an error of 2 %.
  const Outcome rejected = run_calibrated_toy(cut);
  CHECK(rejected.code == 1);
  CHECK(holds(rejected.out, "wrong_answer"));
  cut_kernel_to(before, "0xfff80000");
  CHECK(run_calibrated_toy(before).code == 0);
}

TEST_CASE("an exported file contains the limits that it was checked with") {
  const Bench bench;
  write_calibrated_toy(bench);
  REQUIRE(bench.evo(kCalibrate).code == 0);
  REQUIRE(run_calibrated_toy(bench).code == 0);
  const std::string file = "best.cu";
  REQUIRE(bench.evo({"export", "-o", file}).code == 0);
  CHECK(holds(bench.read("best.cu"), "toy/limits.json"));
  const Outcome verified = bench.evo({"verify", file, "--device", "vgpu"});
  CHECK(verified.code == 0);
}

TEST_CASE("limits that were measured with another reference are refused") {
  const Bench bench;
  write_calibrated_toy(bench);
  REQUIRE(bench.evo(kCalibrate).code == 0);
  bench.write("templates/toy/reference.cu", bench.read("templates/toy/reference.cu") + "// a later thought\n");
  check_refused(run_calibrated_toy(bench), 2,
                {"toy/limits.json: measured.emulation_hash", "--calibrate measures again"});
  CHECK(bench.evo(kCalibrate).code == 0);
  CHECK(run_calibrated_toy(bench).code == 0);
}

TEST_CASE("a task without an emulation cannot be calibrated") {
  const ToyBench bench;
  check_refused(bench.evo(kCalibrate), 2, {"task toy has no toy/limits.json"});
}

TEST_CASE("options of the self-test are refused when limits are measured") {
  const ToyBench bench;
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--json"}, {"--record"}, {"--only", "plain"}}) {
    std::vector<std::string> arguments = kCalibrate;
    arguments.insert(arguments.end(), more.begin(), more.end());
    check_refused(bench.evo(arguments), 2, {more.front(), "--calibrate"});
  }
  CHECK_FALSE(std::filesystem::exists(bench / "templates/toy/limits.json"));
}

#include <catch2/catch_test_macros.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// The toy task with a control, a mutant that is found and one whose fault no device shows.
void write_toy_mutants(const Bench& bench, const std::string& expected) {
  write_toy_task(bench);
  bench.write("templates/toy/mutants/plain.json", R"json({
    "base": {"threads": 64, "items": 2, "order": "strided", "wrong": false},
    "controls": [{"name": "honest", "about": "as it is", "genes": {"items": 4}}],
    "mutants": [
      {"name": "difference", "about": "a - b", "edits": [{"file": "kernel.cu", "find": "? '-' : '+'", "replace": "? '+' : '-'"}],
       "expect": ")json" + expected + R"json("},
      {"name": "racing", "about": "needs a GPU", "edits": [], "expect": {"cuda": "unrepeatable"}}
    ]
  })json");
}

const std::vector<std::string> kSelftest = {"selftest", "--task", "toy", "--device", "vgpu"};

}  // namespace

TEST_CASE("the self-test of fp8_sdpa rejects every planted fault for the right reason and accepts honest kernels",
          "[long]") {
  const Bench bench;
  const nlohmann::json json =
      bench.json({"selftest", "--task", "fp8_sdpa", "--device", "vgpu", "--templates", kTemplates});
  CHECK(json["passed"] == true);
  CHECK(json["judged"].get<int>() >= 24);
  for (const auto& row : json["specimens"]) {
    INFO(row);
    CHECK((row["right"] == true || row["verdict"].is_null()));
  }
}

TEST_CASE("the self-test of fp8_qkt passes too", "[long]") {
  const Bench bench;
  const Outcome outcome = bench.evo({"selftest", "--task", "fp8_qkt", "--device", "vgpu", "--templates", kTemplates});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("passed: ") != std::string::npos);
}

TEST_CASE("a self-test says which faults this kind of device cannot show") {
  const Bench bench;
  write_toy_mutants(bench, "wrong_answer");
  const nlohmann::json json = bench.json(kSelftest);
  CHECK(json["passed"] == true);
  CHECK(json["judged"] == 2);
  CHECK(json["specimens"][0]["verdict"] == "valid");
  CHECK(json["specimens"][1]["verdict"] == "wrong_answer");
  CHECK(json["specimens"][2]["verdict"].is_null());
  CHECK(bench.evo(kSelftest).out.find("not shown here") != std::string::npos);
}

TEST_CASE("a mutant with an unexpected verdict fails the self-test") {
  const Bench bench;
  write_toy_mutants(bench, "crashed");
  const Outcome outcome = bench.evo(kSelftest);
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("WRONG") != std::string::npos);
  CHECK(outcome.out.find("failed: 2 checked, 1 with a wrong verdict") != std::string::npos);
}

TEST_CASE("an honest kernel that is rejected fails the self-test") {
  const Bench bench;
  write_toy_mutants(bench, "wrong_answer");
  std::string task = bench.read("templates/toy/task.json");
  task.replace(task.find("\"relative_l2\": 0.0001"), 21, "\"relative_l2\": 1e-300");
  task.replace(task.find("\"relative_l2\": 0.000001"), 23, "\"relative_l2\": 1e-301");
  bench.write("templates/toy/task.json", task);
  bench.write("templates/toy/reference.cu",
              R"cuda(extern "C" __global__ void toy_reference(const float* a, const float* b, float* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N) c[i] = a[i] * 1.0001f + b[i];
}
)cuda");
  const nlohmann::json json = bench.json(kSelftest, 1);
  CHECK(json["specimens"][0]["verdict"] == "wrong_answer");
  CHECK(json["specimens"][0]["right"] == false);
}

TEST_CASE("a self-test of some mutants and controls evaluates only these") {
  const Bench bench;
  write_toy_mutants(bench, "crashed");
  std::vector<std::string> arguments = kSelftest;
  arguments.insert(arguments.end(), {"--only", "honest"});
  CHECK(bench.json(arguments)["judged"] == 1);
  arguments.back() = "honets";
  check_refused(bench.evo(arguments), 2, {"unknown mutant or control 'honets'", "did you mean 'honest'"});
}

TEST_CASE("a run warns until its task has passed its self-test in its current form") {
  const Bench bench;
  write_toy_mutants(bench, "wrong_answer");
  const std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet"};
  const auto warned = [&] {
    const Outcome outcome = bench.evo(run);
    REQUIRE(outcome.code == 0);
    return outcome.err;
  };
  const std::string warning =
      "warning: toy has not passed its self-test on the virtual GPU, or has changed since: evo selftest --task toy "
      "--device "
      "vgpu:h200 does it\n";
  CHECK(warned() == warning);
  REQUIRE(bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--only", "honest"}).code == 0);
  CHECK(warned() == warning);  // A self-test of a part does not count.
  REQUIRE(bench.evo(kSelftest).code == 0);
  CHECK(warned().empty());
  bench.write("templates/toy/plain/kernel.cu", bench.read("templates/toy/plain/kernel.cu") + "// changed\n");
  CHECK(warned() == warning);
  write_toy_mutants(bench, "crashed");
  bench.write("templates/toy/plain/kernel.cu", bench.read("templates/toy/plain/kernel.cu") + "// changed\n");
  REQUIRE(bench.evo(kSelftest).code == 1);
  CHECK(warned() ==
        "warning: toy failed its self-test (1 of 2 verdicts wrong): wrong kernels may win (evo selftest --task toy "
        "--device vgpu:h200)\n");
}

TEST_CASE("a pass that is recorded next to the mutants is copied with the templates") {
  const Bench bench, other;
  write_toy_mutants(bench, "wrong_answer");
  std::vector<std::string> record = kSelftest;
  record.push_back("--record");
  const Outcome outcome = bench.evo(record);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const std::string pass = "templates/toy/mutants/passed/vgpu.json";
  CHECK(outcome.err == "written to " + pass + "\n");
  write_toy_mutants(other, "wrong_answer");
  other.write(pass, bench.read(pass));
  const std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet"};
  CHECK(other.evo(run).err.empty());
  other.write("templates/toy/plain/kernel.cu", other.read("templates/toy/plain/kernel.cu") + "// changed\n");
  CHECK(other.evo(run).err.find("has changed since") != std::string::npos);
  check_refused(bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--record", "--only", "honest"}), 2,
                {"--record", "--only"});
}

TEST_CASE("a task without mutants is run with a warning") {
  const Bench bench;
  write_toy_task(bench);
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "warning: no self-test; run evo selftest --task toy --generate 40\n");
}

TEST_CASE("a task without mutants is tested with mutants that are made of its kernels") {
  const Bench bench;
  write_toy_task(bench);
  const Outcome outcome =
      bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--generate", "20", "--seed", "1"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("generated mutants, seed 1") != std::string::npos);
  CHECK(outcome.out.find("mutants killed: 100.0 % (95 % interval") != std::string::npos);
  CHECK(bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--seed", "1"}).out.find("mutants killed") !=
        std::string::npos);
  check_refused(bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--record"}), 2, {"--record"});
}

TEST_CASE("a generated mutant that rounds otherwise and errs no more than its original is no wrong kernel") {
  const Bench bench;
  write_toy_task(bench);
  const std::string path = "templates/toy/plain/kernel.cu";
  std::string kernel = bench.read(path);
  const std::string sum = "a[i${item}] ${wrong ? '-' : '+'} b[i${item}]";
  kernel.replace(kernel.find(sum), sum.size(), "sum_of(a[i${item}], b[i${item}])");
  // Scaled by 3 and back, a sum is rounded three times. With min, the scale is 1.
  bench.write(path, R"cu(
__device__ float sum_of(float a, float b) {
  const float scale = fmaxf(1, 3);
  return (a * scale + b * scale) / scale;
}
)cu" + kernel);
  const Outcome outcome =
      bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--generate", "40", "--seed", "1"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("as accurate: max becomes min") != std::string::npos);
  CHECK(outcome.out.find("would be killed by") == std::string::npos);
  CHECK(outcome.out.find("mutants killed: 100.0 % (95 % interval") != std::string::npos);
}

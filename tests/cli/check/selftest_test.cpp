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
          "[sweep]") {
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

TEST_CASE("the self-test of fp8_qkt passes too", "[sweep]") {
  const Bench bench;
  const Outcome outcome = bench.evo({"selftest", "--task", "fp8_qkt", "--device", "vgpu", "--templates", kTemplates});
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
  bench.change("templates/toy/task.json", "\"relative_l2\": 0.0001", "\"relative_l2\": 1e-300");
  bench.change("templates/toy/task.json", "\"relative_l2\": 0.000001", "\"relative_l2\": 1e-301");
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

TEST_CASE("a run warns until its task has passed its self-test in its current form", "[long]") {
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
  const ToyBench bench;
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "warning: no self-test; run evo selftest --task toy --generate 40\n");
}

TEST_CASE("a task without mutants is tested with mutants that are made of its kernels", "[long]") {
  const ToyBench bench;
  const Outcome outcome =
      bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--generate", "20", "--seed", "1"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("generated mutants, seed 1") != std::string::npos);
  CHECK(outcome.out.find("mutants killed: 100.0 % (95 % interval") != std::string::npos);
  CHECK(bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--seed", "1"}).out.find("mutants killed") !=
        std::string::npos);
  check_refused(bench.evo({"selftest", "--task", "toy", "--device", "vgpu", "--record"}), 2, {"--record"});
}

TEST_CASE("a generated mutant that rounds otherwise and errs no more than its original is no wrong kernel", "[long]") {
  const ToyBench bench;
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

namespace {

/// Rows of x, scaled, by a loop over the grid. With as many threads as elements the loop's step does not matter.
constexpr const char* kLoop = R"cuda(__global__ void unlaunched(float* y, int n) {
  if (threadIdx.x + 5 < n) y[threadIdx.x] = 2.5f;
}
extern "C" __global__ void scale(float* y, const float* x, int n) {
#if offset
  x = x + offset - offset;
#endif
  const int unused = n + 7, step = gridDim.x * 64;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += step) y[i] = 1.5f * x[i];
}
extern "C" __global__ void scale_plain(float* y, const float* x, int n) {
  for (int i = 0; i < n; ++i) y[i] = 1.5 * x[i] + 3.5 - 3.5;
}
)cuda";

/// The mutants that `evo selftest` makes of it at all places, with these numbers of blocks.
std::vector<nlohmann::json> loop_mutants(const Bench& bench, const nlohmann::json& blocks,
                                         const std::string& seed = "1") {
  const nlohmann::json form = {{"kernel", "scale.cu:scale"},
                               {"genes", {{"blocks", blocks}, {"offset", {0}}}},
                               {"shapes", {{{"N", 1001}}, {{"N", 333}}}},
                               {"arguments", {"y=out float[N]", "x=float[N]", "N"}},
                               {"grid", {"blocks"}},
                               {"block", {64}},
                               {"reference", "scale.cu:scale_plain"},
                               {"reference_grid", {1}},
                               {"reference_block", {1}}};
  bench.write("scale.cu", kLoop);
  bench.write("scale.json", form.dump());
  return bench.json({"selftest", "scale.json", "--device", "vgpu", "--generate", "100", "--seed", seed})["mutants"];
}

nlohmann::json mutant_at(const std::vector<nlohmann::json>& mutants, const std::string& operation,
                         const std::string& place) {
  for (const nlohmann::json& mutant : mutants)
    if (mutant["operation"] == operation && mutant["place"] == place) return mutant;
  FAIL("no mutant: " << operation << " at " << place);
  return {};
}

}  // namespace

TEST_CASE("mutants of ten lines are made of what is launched, in the rendered genome, and name it") {
  const Bench bench;
  const std::vector<nlohmann::json> mutants = loop_mutants(bench, {20});
  CHECK(mutants.size() > 8);
  for (const nlohmann::json& mutant : mutants) {
    INFO(mutant);
    CHECK((mutant["place"] == "scale.cu:8" || mutant["place"] == "scale.cu:9"));
    CHECK(mutant["genome"] == "tuned: blocks=20 offset=0");
  }
}

TEST_CASE("a mutant whose machine code is the original's is no change, and shown so", "[long]") {
  const Bench bench;
  CHECK(mutant_at(loop_mutants(bench, {20}), "+ becomes -", "scale.cu:8")["kind"] == "no change");
  const Outcome outcome = bench.evo({"selftest", "scale.json", "--device", "vgpu", "--generate", "100", "--seed", "1"});
  CHECK(outcome.out.find("no change: + becomes -, scale.cu:8") != std::string::npos);
  CHECK(outcome.out.find(" 1 no change,") != std::string::npos);
}

TEST_CASE("a mutant that is right in its genome alone is tried in others", "[long]") {
  const Bench bench;
  // 20 blocks need one turn of the loop, 2 blocks several.
  const auto step_of = [&](const nlohmann::json& blocks, const std::string& seed) {
    return mutant_at(loop_mutants(bench, blocks, seed), "the loop steps twice as far", "scale.cu:9");
  };
  CHECK(step_of({20}, "1")["kind"] == "equivalent");
  CHECK(step_of({20}, "1")["genomes"] == 1);
  for (const char* seed : {"1", "2", "3", "4"}) {  // They begin with one or the other.
    const nlohmann::json shown = step_of({20, 2}, seed);
    CHECK(shown["kind"] == "killed");
    CHECK(shown["genome"] == "tuned: blocks=2 offset=0");
  }
}

TEST_CASE("a mutant that rounds ties otherwise survives if no draw has ties") {
  const Bench bench;
  const nlohmann::json form = {{"kernel", "whole.cu:whole"},
                               {"genes", {{"threads", {64}}}},
                               {"shapes", {{{"N", 300}}}},
                               {"arguments", {"y=out float[N]", "x=float[N] :uniform(3.1, 3.4)", "N"}},
                               {"grid", {"ceil_div(N, threads)"}},
                               {"block", {"threads"}},
                               {"reference", "whole.cu:whole_plain"},
                               {"reference_grid", {1}},
                               {"reference_block", {1}}};
  bench.write("whole.json", form.dump());
  bench.write("whole.cu", R"cuda(extern "C" __global__ void whole(float* y, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = rintf(x[i]);
}
extern "C" __global__ void whole_plain(float* y, const float* x, int n) {
  for (int i = 0; i < n; ++i) y[i] = rint(x[i]);
}
)cuda");
  const nlohmann::json json =
      bench.json({"selftest", "whole.json", "--device", "vgpu", "--generate", "50", "--seed", "1"}, 1);
  const nlohmann::json mutant = mutant_at(json["mutants"], "ties are rounded away from zero", "whole.cu:3");
  CHECK(mutant["kind"] == "survived");
  CHECK(mutant["would_kill"] == "a draw in which a rounded value is a tie");
}

TEST_CASE("a generated mutant that validation accepts is looked at as elites are") {
  const Bench bench;
  const nlohmann::json form = {{"kernel", "squares.cu:squares"},
                               {"genes", {{"threads", {32}}}},
                               {"shapes", {{{"R", 40}, {"N", 32}}, {{"R", 3}, {"N", 20}}}},
                               {"arguments", {"y=out float[R]", "x=float[R,N]", "R", "N"}},
                               {"grid", {"ceil_div(R, threads)"}},
                               {"block", {"threads"}},
                               {"limits", {{"relative_l2", 1e-2}}},
                               {"reference", "squares.cu:squares_plain"},
                               {"reference_grid", {"ceil_div(R, 32)"}},
                               {"reference_block", {32}}};
  bench.write("squares.json", form.dump());
  bench.write("squares.cu", R"cuda(extern "C" __global__ void squares(float* y, const float* x, int rows, int n) {
  const int row = blockIdx.x * threads + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[row * n + i] * x[row * n + i];
  y[row] = sum;
}
extern "C" __global__ void squares_plain(float* y, const float* x, int rows, int n) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += (double)x[row * n + i] * x[row * n + i];
  y[row] = sum;
}
)cuda");
  // Right to 1e-3 with 32 terms; a sum of tens of thousands stands still.
  const Outcome outcome =
      bench.evo({"selftest", "squares.json", "--device", "vgpu", "--generate", "100", "--seed", "1", "--json"});
  const nlohmann::json mutant =
      mutant_at(nlohmann::json::parse(outcome.out)["mutants"], "the sum has 11 bits of precision", "squares.cu:5");
  CHECK(mutant["kind"] == "killed");
  CHECK(holds(mutant["reason"].get<std::string>(), "at a size that it was not validated at"));
}

TEST_CASE("the self-test of ten lines takes no task and names the author's files", "[long]") {
  const Bench bench;
  loop_mutants(bench, {20});
  check_refused(bench.evo({"selftest", "scale.json", "--task", "toy"}), 2, {"--task", "FILE.json"});
  bench.change("scale.json", "scale_plain", "scale_plan");
  check_refused(bench.evo({"selftest", "scale.json", "--device", "vgpu"}), 2, {"scale.json", "scale_plan"});
}

// What ten lines can say beside the plain case: ties, strides, included files, Kernel Tuner's T1 file.
#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

Outcome tune(const Bench& bench, const std::string& file) {
  return bench.evo({"tune", file, "--device", "vgpu", "--evals", "4", "--seed", "1", "--quiet"});
}

/// A ten-line task of tests/data/tune, with its kernel.
void take(const Bench& bench, const std::string& name) {
  for (const char* extension : {".json", ".cu"})
    std::filesystem::copy(EVO_TEST_DATA "/tune/" + name + extension, bench / (name + extension));
}

void change(const Bench& bench, const std::string& file, const std::string& from, const std::string& to) {
  std::string text = bench.read(file);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  bench.write(file, text.replace(at, from.size(), to));
}

void write_scale(const Bench& bench) {
  bench.write("scale.cu", R"(#include "parts/twice.h"
__global__ void scale(float* y, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = twice(x[i]);
}
__global__ void plain(float* y, const float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = 2 * x[i];
}
)");
  bench.write("parts/twice.h",
              "#pragma once\n#include \"product.inl\"\n__device__ float twice(float x) { return product(2, x); }\n");
  bench.write("parts/product.inl",
              "#include \"twice.h\"\n__device__ float product(float a, float b) { return a * b; }\n");
  bench.write("scale.json", R"json({ "kernel": "scale.cu:scale", "genes": {"threads": [32, 64]}, "shapes": [{"N": 100}],
    "arguments": ["y=out float[N]", "x=float[N]", "N"], "grid": ["ceil_div(N, threads)"], "block": ["threads"],
    "reference": "plain" })json");
}

void write_t1(const Bench& bench) {
  bench.write("conv.cu",
              R"(__global__ void conv(float* out, const float* in, const float* filter, int width, int height) {
  const int y = blockIdx.y * block_size_y + threadIdx.y;
  for (int t = 0; t < tile_size_x; ++t) {
    const int x = (blockIdx.x * tile_size_x + t) * block_size_x + threadIdx.x;
    if (x >= width || y >= height) continue;
    float sum = 0;
    for (int i = 0; i < filter_width; ++i) sum += in[y * (width + filter_width - 1) + x + i] * filter[i];
    out[y * width + x] = GAIN * sum;
  }
}
)");
  bench.write("T1.json", R"json({
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "filter_width", "Type": "int", "Values": "[5]"},
        {"Name": "block_size_x", "Type": "int", "Values": "[16, 32, 48]"},
        {"Name": "block_size_y", "Type": "int", "Values": "[2**i for i in range(0, 3)]"},
        {"Name": "tile_size_x", "Type": "int", "Values": "list(range(1, 4))"}],
      "Conditions": [{"Expression": "64 <= block_size_x * block_size_y <= 128", "Parameters": []}]},
    "KernelSpecification": {
      "Language": "CUDA", "CompilerOptions": ["-std=c++11", "-DGAIN=2"], "KernelName": "conv", "KernelFile": "conv.cu",
      "LocalSize": {"X": "block_size_x", "Y": "block_size_y", "Z": "1"}, "GlobalSize": {"X": "1"},
      "GridDivX": ["block_size_x", "tile_size_x"], "GridDivY": ["block_size_y"], "ProblemSize": [75, 19],
      "Arguments": [
        {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant",
         "Size": "ProblemSize[0]*ProblemSize[1]", "FillValue": 0.0, "Output": 1},
        {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
         "Size": "(ProblemSize[0]+max(filter_width)-1) * ProblemSize[1]", "FillValue": 1.0},
        {"Name": "filter", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
         "Size": 5, "FillValue": 1.0},
        {"Name": "width", "Type": "int32", "MemoryType": "Scalar", "FillValue": 75},
        {"Name": "height", "Type": "int32", "MemoryType": "Scalar", "FillValue": 19}]}})json");
}

/// The folder that the file stands for gives the same task and the same elites.
void check_expanded(const Bench& bench, const std::string& file, const std::string& task) {
  const Outcome tuned = tune(bench, file);
  REQUIRE(tuned.code == 0);
  REQUIRE(bench.evo({"tune", file, "--expand", "full"}).code == 0);
  const Outcome ran = bench.evo(
      {"run", "--task", task, "--templates", "full", "--device", "vgpu", "--evals", "4", "--seed", "1", "--quiet"});
  REQUIRE(ran.code == 0);
  const auto runs = bench.json({"runs"})["runs"];
  CHECK(runs.at(0)["task_hash"] == runs.at(1)["task_hash"]);
  CHECK(runs.at(0)["best_us"] == runs.at(1)["best_us"]);
}

}  // namespace

TEST_CASE("each ten-line task of the tests is of at most twelve lines") {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(EVO_TEST_DATA "/tune")) {
    if (file.path().extension() != ".json") continue;
    INFO(file.path());
    std::ifstream stream(file.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    CHECK(std::ranges::count(text, '\n') <= 12);
    ++files;
  }
  CHECK(files >= 10);
}

TEST_CASE("an index of an element that is equal is right where the ten lines say so, and wrong elsewhere") {
  const Bench bench;
  take(bench, "argmax");
  const Outcome ties = tune(bench, "argmax.json");
  CHECK_THAT(ties.out, ContainsSubstring("4 evaluated: 4 valid"));
  change(bench, "argmax.json", " any_of_equal(x)", "");
  CHECK_THAT(tune(bench, "argmax.json").out, ContainsSubstring("4 wrong_answer"));
}

TEST_CASE("padded rows stay untouched where the ten lines give strides", "[long]") {
  const Bench bench;
  take(bench, "batched_gemm");
  check_expanded(bench, "batched_gemm.json", "batched_gemm");
  change(bench, "batched_gemm.cu", "left + x < n) c", "left + x < n + 2) c");
  const Outcome padded = tune(bench, "batched_gemm.json");
  CHECK_THAT(padded.out, ContainsSubstring("4 crashed"));
}

TEST_CASE("included files are part of the task: in its folder, its hash, its export", "[long]") {
  const Bench bench;
  write_scale(bench);
  check_expanded(bench, "scale.json", "scale");
  CHECK(bench.read("full/scale/source/parts/product.inl") == bench.read("parts/product.inl"));
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  const Outcome verified = bench.evo({"verify", "best.cu", "--device", "vgpu"});
  CHECK(verified.code == 0);
  change(bench, "parts/product.inl", "a * b", "b * a");
  REQUIRE(tune(bench, "scale.json").code == 0);
  const auto runs = bench.json({"runs"})["runs"];
  CHECK(runs.at(0)["task_hash"] != runs.at(1)["task_hash"]);
}

TEST_CASE("what is wrong in an included file is said with its line") {
  const Bench bench;
  write_scale(bench);
  change(bench, "parts/product.inl", "a * b", "a * bogus");
  CHECK_THAT(bench.evo({"check", "scale.json"}).out,
             ContainsSubstring("parts/product.inl:2: error: identifier \"bogus\""));
  std::filesystem::remove(bench / "parts/product.inl");
  check_refused(tune(bench, "scale.json"), 2,
                {"scale.json: kernel: parts/twice.h:2: #include \"product.inl\": ", "parts/product.inl"});
}

TEST_CASE("a T1 file is tuned as it is, self-consistently", "[long]") {
  const Bench bench;
  write_t1(bench);
  check_expanded(bench, "T1.json", "T1");
  const Outcome tuned = tune(bench, "T1.json");
  CHECK_THAT(tuned.out, ContainsSubstring("4 evaluated: 4 valid") && ContainsSubstring("self-consistent only"));
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  CHECK(bench.evo({"verify", "best.cu", "--device", "vgpu"}).code == 0);
}

TEST_CASE("a T1 file's symbol fills a __constant__ variable") {
  const Bench bench;
  write_t1(bench);
  change(bench, "conv.cu", "const float* filter, ", "");
  change(bench, "conv.cu", "__global__", "__constant__ float filter[filter_width];\n__global__");
  change(bench, "T1.json", R"("filter", "Type": "float", "MemoryType": "Vector")",
         R"("filter", "Type": "float", "MemoryType": "Symbol")");
  const Outcome tuned = tune(bench, "T1.json");
  CHECK_THAT(tuned.out, ContainsSubstring("4 evaluated: 4 valid"));
}

TEST_CASE("an argument of another type than the kernel's parameter is refused before the search") {
  const Bench bench;
  write_scale(bench);
  change(bench, "scale.json", "\"N\"], \"grid\"", "\"float:3\"], \"grid\"");
  check_refused(tune(bench, "scale.json"), 2, {"scale.json: arguments[2]: float is given, scale takes "});
}

TEST_CASE("a reference that does not compile is said in the author's places") {
  const Bench bench;
  write_scale(bench);
  change(bench, "scale.json", "\"plain\"", "\"other.cu:plain\"");
  bench.write("other.cu", "__global__ void plain(float* y, const float* x, int n) {\n  y[0] = bogus;\n}\n");
  const Outcome outcome = tune(bench, "scale.json");
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("evo: scale.json: reference: it does not compile: other.cu:2: error: "));
}

TEST_CASE("a gene that changes nothing is refused by tune") {
  const Bench bench;
  write_scale(bench);
  change(bench, "scale.json", "[32, 64]", "[32, 64], \"unroll\": [1, 2]");
  check_refused(tune(bench, "scale.json"), 2, {"scale.json: genes.unroll: gene 'unroll' changes nothing"});
}

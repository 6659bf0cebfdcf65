#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "ten_lines.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::string> kTuneConv = {"tune", "conv.json", "--device", "vgpu",   "--evals",
                                            "20",   "--seed",    "1",        "--quiet"};

Outcome tune(const Bench& bench) {
  Outcome outcome = bench.evo(kTuneConv);
  REQUIRE(outcome.code == 0);
  return outcome;
}

/// As its first lines say, with the program that checks it.
void check_nvcc_compiles(const Bench& bench, const std::string& file) {
  const std::filesystem::path nvcc = "/usr/local/cuda/bin/nvcc";
  if (!std::filesystem::exists(nvcc)) SKIP("no nvcc");
  const std::filesystem::path path = bench.folder() / file;
  const std::string command = nvcc.string() + " -std=c++17 -gencode=arch=compute_90a,code=sm_90a -DEVO_MAIN '" +
                              path.string() + "' -o '" + path.string() + ".out' 2> '" + path.string() + ".log'";
  const int code = std::system(command.c_str());
  INFO(bench.read(file + ".log"));
  CHECK(code == 0);
}

}  // namespace

TEST_CASE("tune finds the fastest of a kernel's genomes, every one against the reference") {
  const ConvolutionBench bench;
  const Outcome outcome = tune(bench);
  CHECK_THAT(outcome.out, ContainsSubstring("conv on vgpu:h200"));
  CHECK_THAT(outcome.out, ContainsSubstring("6 evaluated: 6 valid"));
  CHECK_THAT(outcome.out, !ContainsSubstring("self-consistent"));
  const auto best = bench.json({"elites"})["elites"][0];
  CHECK(best["task"] == "conv");
  CHECK(best["self_consistent"] == false);
  CHECK_THAT(bench.evo({"show", "1", "--source"}).out, ContainsSubstring("#define tile "));
}

TEST_CASE("a run says how many of the legal genomes it evaluates, and never more than there are") {
  const Bench bench;
  write_convolution(bench, {{"restrict", {"block_size_x == 32 and block_size_y == 1 and tile == 1"}}});
  const Outcome outcome = bench.evo({"tune", "conv.json", "--device", "vgpu", "--evals", "8", "--seed", "1"});
  INFO(outcome.out << outcome.err);
  CHECK_THAT(outcome.err, ContainsSubstring(" 1 of 1 legal genomes"));
}

TEST_CASE("tune rejects a genome that is wrong on one of the shapes") {
  const ConvolutionBench bench;
  bench.write("conv.cu", changed_convolution("x >= (int)width || y", "(tile == 1 && x >= (int)width) || y"));
  const Outcome outcome = bench.evo(kTuneConv);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("4 valid, 2 "));
}

TEST_CASE("tune --expand writes a folder that runs with the same elites and the same hash", "[long]") {
  const ConvolutionBench bench;
  const Outcome expanded = bench.evo({"tune", "conv.json", "--expand", "full"});
  REQUIRE(expanded.code == 0);
  CHECK_THAT(expanded.out, ContainsSubstring("evo run --task conv --templates full"));
  CHECK(bench.read("full/conv/source/conv.cu") == bench.read("conv.cu"));
  tune(bench);
  const Outcome ran = bench.evo(
      {"run", "--task", "conv", "--templates", "full", "--device", "vgpu", "--evals", "20", "--seed", "1", "--quiet"});
  CHECK(ran.code == 0);
  const auto runs = bench.json({"runs"})["runs"];
  CHECK(runs.at(0)["task_hash"] == runs.at(1)["task_hash"]);
  CHECK(runs.at(0)["best_us"] == runs.at(1)["best_us"]);
}

TEST_CASE("what tune found is verified from the exported file alone", "[long]") {
  const ConvolutionBench bench;
  tune(bench);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  const Outcome verified = bench.evo({"verify", "best.cu", "--device", "vgpu"});
  CHECK(verified.code == 0);
}

TEST_CASE("tune --expand overwrites nothing") {
  const ConvolutionBench bench;
  REQUIRE(bench.evo({"tune", "conv.json", "--expand", "full"}).code == 0);
  check_refused(bench.evo({"tune", "conv.json", "--expand", "full"}), 2, {"full/conv exists"});
}

TEST_CASE("without a reference every result says that it is self-consistent only") {
  const Bench bench;
  write_convolution(bench, {{"reference", nullptr}, {"reference_grid", nullptr}, {"reference_block", nullptr}});
  const Outcome outcome = tune(bench);
  CHECK_THAT(outcome.out, ContainsSubstring("6 evaluated: 6 valid"));
  CHECK_THAT(outcome.out, ContainsSubstring("self-consistent only"));
  CHECK_THAT(bench.evo({"elites"}).out, ContainsSubstring("[self-consistent only]"));
  CHECK_THAT(bench.evo({"show", "1"}).out, ContainsSubstring("self-consistent only"));
  CHECK(bench.json({"elites"})["elites"][0]["self_consistent"] == true);
  CHECK(bench.json({"show", "1"})["self_consistent"] == true);
}

TEST_CASE("a tuned run is resumed from the database") {
  const ConvolutionBench bench;
  REQUIRE(bench.evo({"tune", "conv.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"}).code == 0);
  const Outcome resumed = bench.evo({"run", "--resume", "1", "--evals", "4", "--quiet"});
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.out, ContainsSubstring("4 evaluated"));
}

TEST_CASE("tune says in one line what is wrong, where, and what there is") {
  const Bench bench;
  write_convolution(bench, {{"grid", {"ceil_div(N, block_size_x)"}}});
  check_refused(bench.evo(kTuneConv), 2, {"conv.json: grid[0]: 'ceil_div(N, block_size_x)' reads unknown name 'N'"});
  write_convolution(bench, {{"kernel", "conv.cu:convolve"}});
  check_refused(bench.evo(kTuneConv), 2, {"conv.json: kernel: conv.cu has no kernel convolve", "convolution"});
  write_convolution(bench, {{"kernel", "missing.cu:convolution"}});
  check_refused(bench.evo(kTuneConv), 2, {"conv.json: kernel: ", "missing.cu"});
  check_refused(bench.evo({"tune", "none.json"}), 2, {"none.json"});
}

TEST_CASE("a file of another folder is found from there") {
  const ConvolutionBench bench;
  bench.write("sub/conv.cu", bench.read("conv.cu"));
  bench.write("sub/conv.json", bench.read("conv.json"));
  CHECK(bench.evo({"tune", "sub/conv.json", "--device", "vgpu", "--evals", "1", "--quiet"}).code == 0);
}

TEST_CASE("a reference of half precision writes what the kernel writes") {
  const Bench bench;
  // Without CUDA's headers: the conversion is PTX's.
  const std::string source = R"(
__device__ unsigned short half_of(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
extern "C" __global__ void square(unsigned short* y, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = half_of(x[i] * x[i]);
}
extern "C" __global__ void square_plain(unsigned short* y, const float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = half_of(x[i] * x[i]);
}
)";
  bench.write("square.cu", source);
  bench.write("square.json", R"json({ "kernel": "square.cu:square", "genes": {"threads": [32, 64]},
    "shapes": [{"N": 100}], "arguments": ["y=out half[N]", "x=float[N]", "N"],
    "grid": ["ceil_div(N, threads)"], "block": ["threads"], "reference": "square_plain" })json");
  const std::vector<std::string> command = {"tune", "square.json", "--device", "vgpu", "--evals", "9", "--quiet"};
  const Outcome right = bench.evo(command);
  CHECK(right.code == 0);
  CHECK_THAT(right.out, ContainsSubstring("2 evaluated: 2 valid"));
  bench.change("square.cu", "x[i] * x[i]", "x[i] * 1.1f * x[i]");
  CHECK(bench.evo(command).code == 1);
}

TEST_CASE("an export says that its task has no reference") {
  const Bench bench;
  bench.write("fill.cu",
              "extern \"C\" __global__ void fill(float* y, int n) {\n"
              "  const int i = blockIdx.x * threads + threadIdx.x;\n  if (i < n) y[i] = i;\n}\n");
  bench.write("fill.json", R"json({ "kernel": "fill.cu", "genes": {"threads": [32, 64]}, "shapes": [{"N": 100}],
    "arguments": ["y=out float[N]", "N"], "grid": ["ceil_div(N, threads)"], "block": ["threads"] })json");
  REQUIRE(bench.evo({"tune", "fill.json", "--device", "vgpu", "--evals", "9", "--quiet"}).code == 0);
  CHECK_THAT(bench.evo({"export"}).out, ContainsSubstring("//   reference  none: self-consistent only"));
}

TEST_CASE("a convolution whose filter stands in __constant__ memory is tuned, exported, compiled and verified",
          "[long]") {
  const Bench bench;
  write_constant_convolution(bench);
  CHECK_THAT(tune(bench).out, ContainsSubstring("6 evaluated: 6 valid"));
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  const Outcome verified = bench.evo({"verify", "best.cu", "--device", "vgpu"});
  CHECK(verified.code == 0);
  check_nvcc_compiles(bench, "best.cu");
}

TEST_CASE("a kernel that reads its __constant__ filter wrongly is rejected") {
  const Bench bench;
  write_constant_convolution(bench);
  bench.change("conv.cu", "d_filter[j * (2 * radius + 1) + i]",
               "d_filter[tile == 1 ? i * (2 * radius + 1) + j : j * (2 * radius + 1) + i]");
  const Outcome outcome = bench.evo(kTuneConv);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("4 wrong_answer, 2 valid"));
}

TEST_CASE("kernels of namespaces and templates are tuned, exported, compiled and verified", "[long]") {
  const Bench bench;
  bench.write("twice.cu", R"cuda(namespace ns {
struct Twice { static __device__ float of(float x) { return 2 * x; } };
template <class T, int threads, class Op>
__global__ void apply(T* y, const T* x, int n) {
  for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) y[i] = Op::of(x[i]);
}
__global__ void plain(float* y, const float* x, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
}
)cuda");
  bench.write("conv.json", R"json({
    "kernel": "twice.cu:ns::apply<float, ${threads}, ns::Twice>", "genes": {"threads": [32, 64]},
    "shapes": [{"N": 100}, {"N": 33}], "arguments": ["y=out float[N]", "x=float[N]", "N"], "grid": [2],
    "block": ["threads"], "reference": "twice.cu:ns::plain", "reference_grid": [1], "reference_block": [1]})json");
  tune(bench);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  const Outcome verified = bench.evo({"verify", "best.cu", "--device", "vgpu"});
  CHECK(verified.code == 0);
  check_nvcc_compiles(bench, "best.cu");
}

TEST_CASE("the export of a kernel whose file has the reference too, both extern \"C\", compiles", "[long]") {
  const ConvolutionBench bench;
  tune(bench);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  check_nvcc_compiles(bench, "best.cu");
}

// Modelled times in searches and in `evo verify`: they depend on the inputs and on all blocks, and on nothing else.
#include <catch2/catch_approx.hpp>

#include "bench.h"

using namespace evo::testing;

namespace {

/// A loop as long as a float of the input says.
void write_decay(const Bench& bench) {
  bench.write("decay.cu", R"cuda(
__global__ void decay(int* steps, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i >= n) return;
  float v = fabsf(x[i]) * 100.0f;
  int s = 0;
  while (v > 1.0f) { v -= 1.0f + 1e-3f * v; ++s; }
  steps[i] = s;
}
)cuda");
  bench.write("decay.json", R"json({
    "kernel": "decay.cu:decay", "genes": {"threads": [32, 64]}, "shapes": [{"N": 500}],
    "arguments": ["steps=out int[N]", "x=float[N]", "N"], "grid": ["ceil_div(N, threads)"], "block": ["threads"],
    "reference": "decay.cu:decay", "reference_grid": ["ceil_div(N, 32)"], "reference_block": [32] })json");
}

/// Sums of rows by five blocks. `trick`: 1: the first, the middle and the last block do nothing; 2: sums are kept in a
/// table that the program only reads by its name.
void write_rows(const Bench& bench) {
  bench.write("rows.cu", R"cuda(
__device__ float table[1024];
__global__ void rows(float* y, const float* x, int n) {
  const int last = gridDim.x - 1, b = blockIdx.x;
  const bool traced = b == 0 || b == last || b == gridDim.x / 2;
  if (trick == 1 && traced) return;
  const int first = trick == 1 ? b / 2 : b, step = trick == 1 ? 2 : gridDim.x;
  if (trick == 2 && table[b] == 1) return;
  for (int r = first; r < n; r += step) {
    float s = 0;
    for (int m = threadIdx.x; m < 256; m += 32) s += x[r * 256 + m];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x == 0) y[r] = s;
  }
  if (trick == 2) ((volatile float*)0x7f0000000000ull)[b] = 1;
}
__global__ void plain(float* y, const float* x, int n) {
  for (int r = 0; r < n; ++r) {
    double s = 0;
    for (int m = 0; m < 256; ++m) s += x[r * 256 + m];
    y[r] = s;
  }
}
)cuda");
  bench.write("rows.json", R"json({
    "kernel": "rows.cu:rows", "genes": {"trick": [0, 1, 2]}, "shapes": [{"N": 200}],
    "arguments": ["y=out float[N]", "x=float[N, 256]", "N"], "grid": [5], "block": [32],
    "reference": "rows.cu:plain", "reference_grid": [1], "reference_block": [1] })json");
}

}  // namespace

TEST_CASE("a modelled claim is reproduced on its own inputs, and fresh ones give another figure beside it", "[long]") {
  const Bench bench;
  write_decay(bench);
  REQUIRE(bench.evo({"tune", "decay.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"}).code == 0);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  for (const std::string& subject : {std::string("best.cu"), best_of(bench)}) {
    const nlohmann::json verified = bench.json({"verify", subject, "--device", "vgpu"});
    INFO(verified.dump(1));
    CHECK(verified["reproduced"] == true);
    CHECK(verified["own_inputs_us"] == verified["claim"]["latency_us"]);
    CHECK(verified["found"]["latency_us"] != verified["claim"]["latency_us"]);
  }
}

TEST_CASE("a modelled claim that its own inputs do not give is not reproduced", "[long]") {
  const Bench bench;
  write_decay(bench);
  REQUIRE(bench.evo({"tune", "decay.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"}).code == 0);
  std::string file = bench.evo({"export"}).out;
  const std::string salt = "\"salt\": \"";
  file.replace(file.find(salt) + salt.size(), 1, "f");
  bench.write("best.cu", file);
  CHECK(bench.json({"verify", "best.cu", "--device", "vgpu"}, 1)["reproduced"] == false);
}

TEST_CASE("a search is not deceived by blocks that idle, nor by a table that is written behind its name") {
  const Bench bench;
  write_rows(bench);
  REQUIRE(bench.evo({"tune", "rows.json", "--device", "vgpu", "--evals", "3", "--seed", "1", "--db", "r.db", "--quiet"})
              .code == 0);
  std::map<int, nlohmann::json> by_trick;
  for (const char* candidate : {"1", "2", "3"}) {
    const nlohmann::json shown = bench.json({"show", candidate, "--db", "r.db"});
    by_trick[shown["genome"]["genes"]["trick"].get<int>()] = shown["evaluation"];
  }
  REQUIRE(by_trick.size() == 3);
  CHECK(by_trick[0]["verdict"] == "valid");
  CHECK(by_trick[1]["latency_us"].get<double>() > 2 * by_trick[0]["latency_us"].get<double>());
  CHECK(by_trick[2]["verdict"] == "crashed");
}

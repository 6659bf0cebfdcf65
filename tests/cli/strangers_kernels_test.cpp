// Kernels as people have them: with names that CUDA's headers use, host code, <cuda.h>, templates alone, several
// launches.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench.h"

using Catch::Matchers::ContainsSubstring;
using namespace evo::testing;

namespace {

const char* const kSums = R"cuda(#define WARP 32
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda.h>
#include <vector>
namespace cg = cooperative_groups;

__global__ void partial(float* sums, const float* in, int n) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<WARP>(block);
  __shared__ float shared[32];
  float sum = 0;
  for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += threads * blocks) sum += in[i];
  sum = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) shared[threadIdx.x / WARP] = sum;
  block.sync();
  if (threadIdx.x > 0) return;
  sum = 0;
  for (int i = 0; i < threads / WARP; ++i) sum += shared[i];
  sums[blockIdx.x] = sum;
}
__global__ void finish(float* out, const float* sums, int number) {
  float sum = 0;
  for (int i = 0; i < number; ++i) sum += sums[i];
  *out = sum;
}
__global__ void plain(float* out, const float* in, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i];
  *out = sum;
}
int pick(int n) { return n > 64 ? 128 : 64; }
void run(float* out, const float* in, std::vector<float>& sums) {
  partial<<<4, pick(sums.size())>>>(sums.data(), in, 5000);
}
)cuda";

void write_sums(const Bench& bench) {
  bench.write("sums.cu", kSums);
  bench.write("sums.json", R"json({
    "kernel": "sums.cu", "genes": {"threads": [64], "blocks": [4], "fast": [false, true]}, "shapes": [{"N": 5000}],
    "compiler_options": ["-std=c++20", "${fast ? '-use_fast_math' : ''}", "-maxrregcount=64"],
    "launches": [
      {"kernel": "partial", "grid": ["blocks"], "block": ["threads"],
       "arguments": ["sums=scratch float[blocks]", "in=float[N]", "N"]},
      {"kernel": "finish", "grid": [1], "block": [1], "arguments": ["out=out float[1]", "sums", "blocks"]}],
    "reference": "plain", "reference_grid": [1], "reference_block": [1], "reference_arguments": ["out", "in", "N"]
  })json");
}

}  // namespace

TEST_CASE("genes called threads and blocks, two launches, scratch, options and host code are tuned and exported",
          "[long]") {
  const Bench bench;
  write_sums(bench);
  const Outcome tuned = bench.evo({"tune", "sums.json", "--device", "vgpu", "--evals", "8", "--seed", "1"});
  REQUIRE(tuned.code == 0);
  CHECK(holds(tuned.err, "2 of 2 legal genomes"));
  CHECK(holds(tuned.out, "2 evaluated: 2 valid"));
  const Outcome exported = bench.evo({"export", "1", "-o", "best.cu"});
  REQUIRE(exported.code == 0);
  CHECK(holds(bench.read("best.cu"), "nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a"));
  CHECK(holds(bench.read("best.cu"), " -maxrregcount=64"));
  const Outcome verified = bench.evo({"verify", "best.cu", "--kernels-only"});
  CHECK(verified.code == 0);
}

TEST_CASE("files with <cuda.h>, of templates alone, and without a header say what to do or run") {
  const Bench bench;
  bench.write("k.cu", "#include <cuda.h>\n__global__ void twice(float* y) { y[threadIdx.x] *= 2; }\n");
  CHECK(bench.evo({"vgpu", "k.cu", "--block", "64", "--arg", "y=float[64]:iota"}).code == 0);
  bench.write("t.cu", "template <typename T, int N>\n__global__ void fill(T* x, T v) { x[threadIdx.x % N] = v; }\n");
  const std::vector<std::string> fill = {"vgpu",  "t.cu",   "--block", "32", "--arg", "x=float[64]:unset",
                                         "--arg", "float:2"};
  check_refused(bench.evo(fill), 2, {"fill is a template: say --kernel \"fill<float, 64>\""});
  std::vector<std::string> named = fill;
  named.insert(named.end(), {"--kernel", "fill"});
  check_refused(bench.evo(named), 2, {"fill is a template: say --kernel \"fill<float, 64>\""});
  named.back() = "fill<float, 64>";
  CHECK(bench.evo(named).code == 0);
  bench.write("h.cu", "__global__ void k(half* x) { x[0] = x[1]; }\n");
  check_refused(bench.evo({"vgpu", "h.cu", "--arg", "x=half[2]:iota"}), 2, {"half needs #include <cuda_fp16.h>"});
  bench.write("o.cu", "__global__ void k(float* x, cudaTextureObject_t t) { *x = tex1Dfetch<float>(t, 0); }\n");
  const Outcome fetched = bench.evo({"vgpu", "o.cu", "--arg", "x=float[1]:unset", "--arg", "ulong:1"});
  CHECK(fetched.code == 1);
  CHECK_THAT(fetched.out, ContainsSubstring("line 1") && ContainsSubstring("0x1 is no texture object"));
}

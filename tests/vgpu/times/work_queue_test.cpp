// Blocks that take their work from a counter in global memory: each gets its share, also where one runs alone.
#include <catch2/catch_approx.hpp>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/times/device_bench.h"

using namespace evo;

namespace {

constexpr int kBlocks = 132;
constexpr int kWorks = 8 * kBlocks;
constexpr int kThreads = 64;

const std::string kKernels = R"(
__device__ void work(int i, unsigned* out) {
  unsigned hash = i;
  for (int round = 0; round < 500; ++round) hash = (hash ^ hash >> 13) * 1664525u;
  out[i * 64 + threadIdx.x] += hash + threadIdx.x;
}
extern "C" __global__ void dealt(unsigned*, unsigned* out, int works) {
  for (int i = blockIdx.x; i < works; i += gridDim.x) work(i, out);
}
extern "C" __global__ void taken(unsigned* next, unsigned* out, int works) {
  __shared__ int taken;
  for (;;) {
    if (threadIdx.x == 0) taken = atomicAdd(next, 1);
    __syncthreads();
    const int i = taken;
    __syncthreads();
    if (i >= works) return;
    work(i, out);
  }
}
// A barrier of the grid, made by hand.
extern "C" __global__ void meets(unsigned* arrived, unsigned* out, int works) {
  for (int i = blockIdx.x; i < works; i += gridDim.x) work(i, out);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {}
  }
  __syncthreads();
}
)";

struct Bench : vgpu::DeviceBench {
  Bench()
      : DeviceBench(vgpu::ptx_of(kKernels), {{"out", DType::s32, kWorks * kThreads * 4, true}}, {"next", 4, true}) {}

  Plan plan_of(const std::string& kernel) const {
    return plan_with({launch_of(kernel, kBlocks, kThreads, {workspace(), tensor(0), Argument::of_int(kWorks)})});
  }
  std::vector<std::uint32_t> results(const std::string& kernel) {
    device->fill(buffers.tensors[0], std::byte{0}, kWorks * kThreads * 4);
    device->fill(buffers.workspaces[0], std::byte{0}, 4);
    REQUIRE_FALSE(device->run(*module, plan_of(kernel), buffers));
    return words(buffers.tensors[0], kWorks * kThreads);
  }

  /// Only traced blocks run.
  double modelled_alone_us(const std::string& kernel) { return modelled(plan_of(kernel)); }
  /// All blocks run.
  double timed_us(const std::string& kernel) { return timed(plan_of(kernel)); }
};

}  // namespace

TEST_CASE("work that blocks take from a counter is done once") {
  Bench bench;
  CHECK(bench.results("taken") == bench.results("dealt"));
}

TEST_CASE("the cost of a block that takes its work is that of its share") {
  Bench bench;
  const double dealt = bench.modelled_alone_us("dealt");
  CHECK(bench.modelled_alone_us("taken") == Catch::Approx(dealt).epsilon(0.3));
  CHECK(bench.timed_us("taken") == Catch::Approx(dealt).epsilon(0.3));
  CHECK(bench.timed_us("dealt") == Catch::Approx(dealt).epsilon(0.01));
}

TEST_CASE("a block that is modelled alone does not wait for the others at a barrier made by hand") {
  Bench bench;
  const double dealt = bench.modelled_alone_us("dealt");
  CHECK(bench.modelled_alone_us("meets") == Catch::Approx(dealt).epsilon(0.3));
  CHECK(bench.results("meets") == bench.results("dealt"));
}

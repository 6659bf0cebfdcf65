// Blocks that take their work from a counter in global memory: each gets its share, also where one runs alone.
#include <catch2/catch_approx.hpp>
#include <span>

#include "evaluator/vgpu/virtual_device.h"
#include "tests/vgpu/gpu_for_tests.h"

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

struct Bench {
  std::unique_ptr<vgpu::VirtualGpu> device = vgpu::make_device("h200");
  std::unique_ptr<Module> module;
  Buffers buffers;

  Bench() {
    std::optional<Failure> failure;
    Binary binary;
    binary.ptx = vgpu::ptx_of(kKernels);
    module = device->load(binary, failure);
    REQUIRE_FALSE(failure);
    buffers.tensors.push_back(device->allocate(kWorks * kThreads * 4, "out"));
    buffers.workspaces.push_back(device->allocate(4, "next"));
  }

  Plan plan_of(const std::string& kernel) const {
    Plan plan;
    plan.tensors = {{"out", DType::s32, kWorks * kThreads * 4, true}};
    plan.workspaces = {{"next", 4, true}};
    Launch launch;
    launch.kernel = kernel;
    launch.grid = {kBlocks, 1, 1};
    launch.block = {kThreads, 1, 1};
    launch.arguments = {{Argument::Kind::workspace, 0}, {Argument::Kind::tensor, 0}, Argument::of_int(kWorks)};
    plan.launches = {launch};
    return plan;
  }

  void clear() {
    device->upload(buffers.tensors[0], std::vector<std::byte>(kWorks * kThreads * 4));
    device->upload(buffers.workspaces[0], std::vector<std::byte>(4));
  }

  std::vector<std::byte> results(const std::string& kernel) {
    clear();
    REQUIRE_FALSE(device->run(*module, plan_of(kernel), buffers));
    std::vector<std::byte> out(kWorks * kThreads * 4);
    device->download(out, buffers.tensors[0]);
    return out;
  }

  /// Only traced blocks run.
  double modelled_alone_us(const std::string& kernel) {
    clear();
    std::optional<Failure> failure;
    const auto cost = device->model(*module, plan_of(kernel), buffers, false, failure);
    REQUIRE_FALSE(failure);
    return cost.latency_us;
  }

  /// All blocks run.
  double timed_us(const std::string& kernel) {
    clear();
    std::optional<Failure> failure;
    const Timing timing = device->time(*module, plan_of(kernel), std::span(&buffers, 1), {}, failure);
    REQUIRE_FALSE(failure);
    return timing.median_us;
  }
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

// A modelled time stands on few traces. It must be what a simulation of all blocks says: for kernels that try to look
// cheap, and for honest ones whose blocks have unequal work.
#include <catch2/catch_approx.hpp>
#include <numeric>
#include <span>

#include "evaluator/base/random.h"
#include "evaluator/vgpu/cost/cost_model.h"
#include "evaluator/vgpu/cost/trace_recorder.h"
#include "evaluator/vgpu/virtual_device.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo;
using Catch::Approx;

namespace {

constexpr std::size_t kWords = 1u << 16;
constexpr std::uint32_t kBlocks = 264;
constexpr std::uint32_t kThreads = 64;
constexpr int kSeeds = 5;

const std::string kKernels = R"(
__device__ unsigned hashed(unsigned hash, int rounds) {
  for (int round = 0; round < rounds; ++round) hash = (hash ^ hash >> 13) * 1664525u;
  return hash;
}
__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }
#define KERNEL(name) extern "C" __global__ void name(const unsigned* in, unsigned* out, unsigned* counter)
// Kernels that hide their work: instructions that some blocks run and others do not. Where blocks differ in cache
// misses or bank conflicts alone the model errs (docs/vgpu_cost_model.md, Limits).
KERNEL(odd_blocks) { if (blockIdx.x & 1) out[place()] = hashed(place(), 2000); }
KERNEL(one_in_many) { if (blockIdx.x % 37 == 11) out[place()] = hashed(place(), 4000); }
KERNEL(some_sms) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm < 6) out[place()] = hashed(place(), 3000);
}
KERNEL(by_clock) {
  const unsigned begun = clock();
  const unsigned waited = hashed(place(), blockIdx.x % 5 * 10);
  if ((clock() - begun) % 3 == 0) out[place()] = hashed(waited, 2000);
}
KERNEL(one_warp) {
  if (threadIdx.x / 32 == blockIdx.x * 7 % 2 && blockIdx.x % 8 == 3) out[place()] = hashed(place(), 3000);
}
KERNEL(last_blocks) { if (blockIdx.x >= gridDim.x - 3) out[place()] = hashed(place(), 6000); }
KERNEL(by_ticket) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = atomicAdd(counter, 1);
  __syncthreads();
  if (mine % 19 == 7) out[place()] = hashed(place(), 3000);
}
KERNEL(by_data) { if (in[blockIdx.x] % 16 == 0) out[place()] = hashed(place(), 3000); }
// Honest ones.
KERNEL(segments) {
  const unsigned length = 1u << (in[blockIdx.x] % 10);
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < length * 8; i += blockDim.x) sum += in[(blockIdx.x * 64 + i) & 65535];
  out[place()] = sum;
}
KERNEL(top_p) {
  __shared__ unsigned all;
  float mass = 0;
  int i = 0;
  for (; mass < 20.0f && i < 2000; ++i)
    mass += (in[(blockIdx.x * 131 + i) & 65535] & 1023) * (blockIdx.x % 7 + 1) * 1e-5f;
  if (threadIdx.x == 0) all = i;
  __syncthreads();
  out[place()] = all;
}
KERNEL(inside) {
  const float x = (in[place() & 65535] & 255) / 255.0f;
  unsigned crossings = 0;
  for (int i = 0; i < 60; ++i) {
    const float y = (in[(i * 67) & 65535] & 255) / 255.0f;
    if (y > x) crossings += hashed(i, 3) & 1;
  }
  out[place()] = crossings;
}
KERNEL(sparse_rows) {
  const unsigned r = in[blockIdx.x] & 1023, length = r * r / 2048;
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < length; i += blockDim.x) sum += in[in[(blockIdx.x * 512 + i) & 65535] & 65535];
  out[place()] = sum;
}
)";

const std::vector<const char*> kHiding = {"odd_blocks", "one_in_many", "some_sms",  "by_clock",
                                          "one_warp",   "last_blocks", "by_ticket", "by_data"};
const std::vector<const char*> kUneven = {"segments", "top_p", "inside", "sparse_rows"};

struct Bench {
  std::unique_ptr<vgpu::VirtualGpu> device = vgpu::make_device("h200");
  std::unique_ptr<Module> module;
  Buffers buffers;
  std::optional<Failure> failure;
  Plan plan;
  std::vector<std::uint32_t> in = std::vector<std::uint32_t>(kWords);

  Bench() {
    Binary binary;
    binary.ptx = vgpu::ptx_of(kKernels);
    module = device->load(binary, failure);
    REQUIRE_FALSE(failure);
    for (const char* name : {"in", "out"}) buffers.tensors.push_back(device->allocate(kWords * 4, name));
    buffers.workspaces.push_back(device->allocate(4, "counter"));
    plan.tensors = {{"in", DType::s32, kWords * 4, false}, {"out", DType::s32, kWords * 4, true}};
    plan.workspaces = {{"counter", 4, true}};
  }
  void draw(int seed) {
    for (std::size_t i = 0; i < kWords; ++i)
      in[i] = static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(seed), i));
    device->upload(buffers.tensors[0], std::as_bytes(std::span(in)));
  }
  void launches(std::vector<const char*> kernels) {
    plan.launches.clear();
    for (const char* kernel : kernels) {
      Launch launch;
      launch.kernel = kernel;
      launch.grid = {kBlocks, 1, 1};
      launch.block = {kThreads, 1, 1};
      launch.arguments = {{Argument::Kind::tensor, 0}, {Argument::Kind::tensor, 1}, {Argument::Kind::workspace, 0}};
      plan.launches.push_back(launch);
    }
  }
  double timed() {
    const double us = device->time(*module, plan, {&buffers, 1}, {}, failure).median_us;
    if (failure) FAIL(failure->reason);
    return us;
  }
  double modelled() {
    device->fill(buffers.workspaces[0], std::byte{0}, 4);
    const double us = device->model(*module, plan, buffers, false, failure).latency_us;
    if (failure) FAIL(failure->reason);
    return us;
  }
  /// From the traces of all blocks.
  double simulated(const char* name) const {
    using namespace evo::vgpu;
    const DeviceModel& model = device_model("h200");
    GlobalMemory memory;
    const LoadedModule loaded(memory, ptx_of(kKernels), Build{});
    vgpu::Launch launch;
    launch.kernel = loaded.kernel(name);
    launch.memory = &memory;
    launch.grid = {kBlocks, 1, 1};
    launch.block = {kThreads, 1, 1};
    launch.sm_count = static_cast<std::uint32_t>(model.sm_count);
    launch.resident_blocks = launch.sm_count * 32;
    const std::uint64_t address[3] = {memory.allocate(kWords * 4, "in"), memory.allocate(kWords * 4, "out"),
                                      memory.allocate(4, "counter")};
    std::memcpy(memory.at(address[0], kWords * 4), in.data(), kWords * 4);
    std::memset(memory.at(address[2], 4), 0, 4);
    launch.parameters.resize(sizeof address);
    std::memcpy(launch.parameters.data(), address, sizeof address);
    std::vector<BlockWork> work(kBlocks);
    launch.work = work.data();
    std::vector<std::uint64_t> all(kBlocks);
    std::iota(all.begin(), all.end(), 0u);
    TraceRecorder recorder;
    run_blocks(launch, {&recorder, all});
    REQUIRE_FALSE(launch.failure);
    LaunchConfig config;
    config.blocks = kBlocks;
    config.threads_per_block = kThreads;
    config.registers_per_thread = 16;
    config.smem_bytes = launch.kernel->static_smem_bytes;
    config.footprint_bytes = 2 * kWords * 4 + 4;
    return model_launch(model, config, recorder.trace(), work).latency_us;
  }
};

void check_all(const std::vector<const char*>& kernels) {
  Bench bench;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    bench.draw(seed);
    for (const char* kernel : kernels) {
      INFO(kernel << ", seed " << seed);
      bench.launches({kernel});
      CHECK(bench.timed() == Approx(bench.simulated(kernel)).epsilon(0.05));
    }
  }
}

}  // namespace

TEST_CASE("kernels whose blocks differ in instructions take as long as a simulation of all blocks says") {
  check_all(kHiding);
}

TEST_CASE("honest kernels with uneven work take as long as a simulation of all blocks says") {
  check_all(kUneven);
}

TEST_CASE("work that is done by the second launch of two counts") {
  Bench bench;
  bench.draw(1);
  bench.launches({"one_in_many", "odd_blocks"});
  CHECK(bench.timed() == Approx(bench.simulated("one_in_many") + bench.simulated("odd_blocks")).epsilon(0.05));
}

TEST_CASE("a model that runs few blocks finds the work that most of them hide") {
  Bench bench;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    bench.draw(seed);
    for (const char* kernel : {"odd_blocks", "by_clock", "inside"}) {
      INFO(kernel << ", seed " << seed);
      bench.launches({kernel});
      CHECK(bench.modelled() == Approx(bench.simulated(kernel)).epsilon(0.1));
    }
    for (const char* kernel : {"one_in_many", "some_sms", "one_warp", "by_data", "segments", "sparse_rows"}) {
      INFO(kernel << ", seed " << seed);
      bench.launches({kernel});
      CHECK(bench.modelled() > 0.5 * bench.simulated(kernel));
    }
  }
}

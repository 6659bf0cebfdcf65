// A modelled time stands on few traces. It must be what a simulation of all blocks says: for kernels that try to look
// cheap, and for honest ones whose blocks have unequal work.
#include <catch2/catch_approx.hpp>
#include <numeric>
#include <span>

#include "evaluator/base/random.h"
#include "evaluator/vgpu/cost/cost_model.h"
#include "evaluator/vgpu/cost/trace_recorder.h"
#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/times/device_bench.h"

using namespace evo;
using Catch::Approx;

namespace {

constexpr std::size_t kWords = 1u << 16;
constexpr std::uint32_t kBlocks = 264;
constexpr std::uint32_t kThreads = 64;

const std::string kKernels = R"(
__device__ unsigned hashed(unsigned hash, int rounds) {
  for (int round = 0; round < rounds; ++round) hash = (hash ^ hash >> 13) * 1664525u;
  return hash;
}
__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }
#define KERNEL(name) extern "C" __global__ void name(const unsigned* in, unsigned* out, unsigned* counter)
// Kernels that hide their work: some blocks run it and others do not.
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
// As many instructions in each block, but some blocks' are dearer.
KERNEL(conflicts) {
  __shared__ volatile unsigned tile[2048];
  const unsigned stride = blockIdx.x & 1 ? 32 : 1;
  unsigned sum = 0;
  for (int i = 0; i < 300; ++i) sum += tile[(threadIdx.x * stride + i) & 2047];
  out[place()] = sum;
}
KERNEL(few_conflicts) {
  __shared__ volatile unsigned tile[2048];
  const unsigned stride = blockIdx.x % 9 == 4 ? 8 : 1;
  unsigned sum = 0;
  for (int i = 0; i < 1000; ++i) sum += tile[(threadIdx.x * stride + i) & 2047];
  out[place()] = sum;
}
KERNEL(misses) {
  const unsigned stride = blockIdx.x % 3 == 1 ? 8192 + 64 : 0;
  unsigned v = threadIdx.x;
  for (int i = 0; i < 300; ++i) v = in[(v % 64 + i * stride) & 65535];
  out[place()] = v;
}
KERNEL(wide_loads) {
  const unsigned stride = blockIdx.x % 3 == 1 ? 8 : 1;
  unsigned sum = 0;
  for (int i = 0; i < 300; ++i) sum += in[(threadIdx.x * stride + i * 777) & 65535];
  out[place()] = sum;
}
KERNEL(doubles) {
  float f = threadIdx.x;
  double d = threadIdx.x;
  if (blockIdx.x % 3 == 1) for (int i = 0; i < 2000; ++i) d = d * 1.0001 + 0.5;
  else for (int i = 0; i < 2000; ++i) f = f * 1.0001f + 0.5f;
  out[place()] = f + d;
}
KERNEL(roots) {
  float f = threadIdx.x;
  if (blockIdx.x % 3 == 1) for (int i = 0; i < 600; ++i) f = __cosf(f) + 0.5f;
  else for (int i = 0; i < 600; ++i) f = f * 1.0001f * f + 0.5f;
  out[place()] = f;
}
KERNEL(spills) {
  volatile unsigned own[1024];
  const unsigned mask = blockIdx.x % 3 == 1 ? 1023 : 3;
  unsigned sum = 0;
  for (int i = 0; i < 1200; ++i) own[i & 1023] = i;
  for (int i = 0; i < 1200; ++i) sum += own[(i * 8) & mask];
  out[place()] = sum;
}
KERNEL(atomics) {
  unsigned sum = 0;
  volatile unsigned* mine = out + place();
  if (blockIdx.x % 3 == 1) for (int i = 0; i < 100; ++i) sum += atomicAdd(out + place(), sum);
  else for (int i = 0; i < 100; ++i) sum += in[(threadIdx.x + sum % 2) & 63];
  *mine = sum;
}
KERNEL(divergence) {
  unsigned v = threadIdx.x;
  const unsigned which = blockIdx.x % 3 == 1 ? threadIdx.x : 0;
  for (int i = 0; i < 200; ++i) {
    switch ((which + i) & 3) {
      case 0: v = hashed(v, 2); break;
      case 1: v = v * 7 + (v >> 3); v ^= v << 5; break;
      case 2: v = (v ^ 12345) * 3 + (v >> 9); break;
      default: v = v * v + 11;
    }
  }
  out[place()] = v;
}
KERNEL(chains) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  if (blockIdx.x % 3 == 1) for (int i = 0; i < 2000; ++i) a = a * 1.001f + 0.5f;
  else for (int i = 0; i < 500; ++i) {
    a = a * 1.001f + 0.5f; b = b * 1.001f + 0.5f; c = c * 1.001f + 0.5f; d = d * 1.001f + 0.5f;
  }
  out[place()] = a + b + c + d;
}
// Warps that work one after another, though as much.
KERNEL(in_turn) {
  const unsigned warp = threadIdx.x / 32;
  unsigned v = threadIdx.x;
  for (unsigned phase = 0; phase < 2; ++phase) {
    if ((blockIdx.x % 3 == 1 ? warp : 0) == phase) v = hashed(v, 1500);
    __syncthreads();
  }
  out[place()] = v;
}
// More kinds of code than strata.
template <int K>
__device__ unsigned kind(unsigned v) {
  #pragma unroll 1
  for (int i = 0; i < 20 * (K + 5); ++i) {
    v = v * (2 * K + 3) + K;
    if (K & 1) v ^= v >> (K % 13 + 1);
    if (K & 2) v = (v << 7) - v % (K + 7);
    if (K & 4) v = __float_as_uint(__uint_as_float(v) * (K + 0.5f)) + 1;
    if (K & 8) v += __popc(v);
  }
  return v;
}
template <int K>
__device__ unsigned one_of(int which, unsigned v) {
  if constexpr (K == 32) return v;
  else return which == K ? kind<K>(v) : one_of<K + 1>(which, v);
}
KERNEL(many_kinds) { out[place()] = one_of<0>(blockIdx.x % 32, threadIdx.x); }
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
KERNEL(triangle) {
  unsigned sum = 0;
  for (unsigned i = 0; i <= blockIdx.x; ++i) sum += in[(i * 64 + threadIdx.x) & 65535] * (sum | 1);
  out[place()] = sum;
}
KERNEL(ragged) {
  __shared__ float tile[64];
  const unsigned length = in[blockIdx.x] % 100 + 1;
  float most = 0, sum = 0;
  for (unsigned k = 0; k < length; ++k) {
    tile[threadIdx.x] = in[(blockIdx.x * 64 + k * 64 + threadIdx.x) & 65535] * 1e-9f;
    __syncthreads();
    for (int i = 0; i < 8; ++i) { most = fmaxf(most, tile[(threadIdx.x + i) & 63]); sum += __expf(tile[i] - most); }
    __syncthreads();
  }
  out[place()] = sum;
}
KERNEL(scan) {
  unsigned v = in[place() & 65535], flag = v % 5 == 0;
  for (unsigned length = in[blockIdx.x + 300] % 40; length > 0; --length) {
    for (int d = 1; d < 32; d *= 2) {
      const unsigned left = __shfl_up_sync(~0u, v, d), f = __shfl_up_sync(~0u, flag, d);
      if ((threadIdx.x & 31) >= d && !flag) { v += left; flag |= f; }
    }
  }
  out[place()] = v;
}
KERNEL(histogram) {
  __shared__ unsigned counts[256];
  const unsigned bins = 1u << (in[blockIdx.x] % 9);
  for (int i = threadIdx.x; i < 256; i += 64) counts[i] = 0;
  __syncthreads();
  for (int i = 0; i < 60; ++i) atomicAdd(counts + in[(place() + i * 64) & 65535] % bins, 1);
  __syncthreads();
  out[place()] = counts[threadIdx.x];
}
)";

const std::vector<const char*> kHiding = {"odd_blocks", "one_in_many", "some_sms",  "by_clock",
                                          "one_warp",   "last_blocks", "by_ticket", "by_data"};
const std::vector<const char*> kDear = {"conflicts", "few_conflicts", "misses",     "wide_loads", "doubles", "roots",
                                        "spills",    "atomics",       "divergence", "chains",     "in_turn"};
const std::vector<const char*> kUneven = {"segments", "top_p",  "inside", "sparse_rows",
                                          "triangle", "ragged", "scan",   "histogram"};

const std::string& ptx() {
  static const std::string text = vgpu::ptx_of(kKernels);
  return text;
}

struct Bench : vgpu::DeviceBench {
  std::vector<std::uint32_t> in = std::vector<std::uint32_t>(kWords);

  Bench()
      : DeviceBench(ptx(), {{"in", DType::s32, kWords * 4, false}, {"out", DType::s32, kWords * 4, true}},
                    {"counter", 4, true}) {}
  void draw(int seed) {
    for (std::size_t i = 0; i < kWords; ++i)
      in[i] = static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(seed), i));
    device->upload(buffers.tensors[0], std::as_bytes(std::span(in)));
  }
  static Launch launch_of(const char* kernel) {
    return DeviceBench::launch_of(kernel, kBlocks, kThreads, {tensor(0), tensor(1), workspace()});
  }
  double timed(const char* kernel) { return DeviceBench::timed(plan_with({launch_of(kernel)})); }
  double modelled(const char* kernel) { return DeviceBench::modelled(plan_with({launch_of(kernel)})); }
  /// From the traces of all blocks.
  double simulated(const char* name) const {
    using namespace evo::vgpu;
    const DeviceModel& model = device_model("h200");
    GlobalMemory memory;
    const LoadedModule loaded(memory, ptx(), Build{});
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
    for (const RecordedBlock& block : recorder.trace().blocks)
      CHECK(block.global_sectors == work[block.number].sectors);  // What is counted in all blocks is what traces tell.
    LaunchConfig config;
    config.blocks = kBlocks;
    config.threads_per_block = kThreads;
    config.registers_per_thread = 16;
    config.smem_bytes = launch.kernel->static_smem_bytes;
    config.footprint_bytes = 2 * kWords * 4 + 4;
    return model_launch(model, config, recorder.trace(), work).latency_us;
  }
};

void check_all(const std::vector<const char*>& kernels, int first_seed, int last_seed) {
  Bench bench;
  for (int seed = first_seed; seed <= last_seed; ++seed) {
    bench.draw(seed);
    for (const char* kernel : kernels) {
      INFO(kernel << ", seed " << seed);
      CHECK(bench.timed(kernel) == Approx(bench.simulated(kernel)).epsilon(0.05));
    }
  }
}

}  // namespace

TEST_CASE("kernels whose blocks differ in instructions take as long as a simulation of all blocks says") {
  check_all(kHiding, 1, 1);
}

TEST_CASE("kernels whose blocks execute as much and differ in what it costs take as long as a simulation of all says",
          "[long]") {
  check_all(kDear, 1, 1);
}

TEST_CASE("honest kernels with uneven work take as long as a simulation of all blocks says") {
  check_all(kUneven, 1, 1);
}

TEST_CASE("on other inputs, too, kernels with uneven work take as long as a simulation of all blocks says", "[sweep]") {
  for (const auto& kernels : {kHiding, kDear, kUneven}) check_all(kernels, 2, 5);
}

TEST_CASE("work that is done by the second launch of two counts") {
  Bench bench;
  bench.draw(1);
  const Plan both = bench.plan_with({Bench::launch_of("one_in_many"), Bench::launch_of("odd_blocks")});
  CHECK(bench.DeviceBench::timed(both) ==
        Approx(bench.simulated("one_in_many") + bench.simulated("odd_blocks")).epsilon(0.05));
}

TEST_CASE("a time is uncertain where blocks run more kinds of code than are traced, and only there") {
  Bench bench;
  bench.draw(1);
  const auto spread = [&](const char* kernel) {
    const Timing timing = bench.timing(bench.plan_with({Bench::launch_of(kernel)}));
    REQUIRE_FALSE(bench.failure);
    return timing.high_us / timing.low_us - 1;
  };
  CHECK(spread("many_kinds") > 0.1);
  for (const char* kernel : {"odd_blocks", "triangle", "misses"}) CHECK(spread(kernel) == 0);
}

TEST_CASE("a model that runs few blocks finds the work that most of them hide") {
  Bench bench;
  for (int seed = 1; seed <= 2; ++seed) {
    bench.draw(seed);
    for (const char* kernel : {"odd_blocks", "by_clock", "inside", "atomics"}) {
      INFO(kernel << ", seed " << seed);
      CHECK(bench.modelled(kernel) == Approx(bench.simulated(kernel)).epsilon(0.1));
    }
    for (const char* kernel :
         {"one_in_many", "some_sms", "one_warp", "by_ticket", "by_data", "segments", "sparse_rows"}) {
      INFO(kernel << ", seed " << seed);
      CHECK(bench.modelled(kernel) > 0.5 * bench.simulated(kernel));
    }
  }
}

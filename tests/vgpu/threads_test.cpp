// Blocks on several threads of the CPU.

#include "evaluator/vgpu/virtual_device.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo::vgpu;

namespace {

using Words = std::vector<std::uint32_t>;

/// Enough instructions to make several threads worthwhile.
constexpr const char* kLong = R"(
extern "C" __global__ void hash(unsigned* out, int rounds) {
  __shared__ unsigned tile[64];
  unsigned x = blockIdx.x * 64 + threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    x = x * 1664525u + 1013904223u;
    tile[threadIdx.x] = x;
    __syncthreads();
    x ^= tile[(threadIdx.x + 1) % 64] >> 3;
    __syncthreads();
  }
  out[blockIdx.x * 64 + threadIdx.x] = x;
}
extern "C" __global__ void fall_over(unsigned* out, int rounds, int first, int step) {
  unsigned x = threadIdx.x;
  for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  const int block = blockIdx.x;
  if (block >= first && block % step == 0) out += 1 << 20;
  out[block * 32 + threadIdx.x] = x;
}
extern "C" __global__ void count(unsigned* out) { atomicAdd(out, 1u); }
extern "C" __global__ void count_in_shared(unsigned* out) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
extern "C" __global__ void watch(volatile unsigned* out) { out[blockIdx.x] = out[0]; }
extern "C" __global__ void fence(unsigned* out) { out[blockIdx.x] = 1; __threadfence(); }
extern "C" __global__ void speak() { printf("%d\n", blockIdx.x); }
)";

struct Outcome {
  Words out;
  std::uint64_t executed = 0;
  std::string failure;
  bool operator==(const Outcome&) const = default;
};

template <class... More>
Outcome run(int threads, const char* kernel, std::uint32_t blocks, std::uint32_t block, std::size_t words,
            More... more) {
  TestGpu gpu;
  gpu.load_cuda(kLong);
  gpu.set_threads(threads);
  const auto out = gpu.upload("out", Words(words, 0));
  const auto failure = gpu.launch(kernel, {{blocks, 1, 1}, {block, 1, 1}}, out, more...);
  return {gpu.download<std::uint32_t>(out, words), gpu.executed(), failure ? failure->reason : ""};
}

}  // namespace

TEST_CASE("a launch's results and counts do not depend on the number of threads") {
  const Outcome one = run(1, "hash", 200, 64, 200 * 64, 400);
  CHECK(one.failure.empty());
  CHECK(one.executed > 500'000);
  for (const int threads : {2, 3, 16}) CHECK(run(threads, "hash", 200, 64, 200 * 64, 400) == one);
}

TEST_CASE("if several blocks fail, the lowest is reported for any number of threads") {
  // The traced block would be the first, so it must not fail: blocks 96, 144, 192 ... do.
  for (const int rounds : {10, 2000}) {
    const Outcome one = run(1, "fall_over", 400, 32, 400 * 32, rounds, 50, 48);
    CHECK(contains(one.failure, "block (96, 0, 0)"));
    for (const int threads : {2, 5})
      CHECK(run(threads, "fall_over", 400, 32, 400 * 32, rounds, 50, 48).failure == one.failure);
  }
}

TEST_CASE("a launch's budget ends it on several threads too") {
  TestGpu gpu;
  gpu.load_cuda(kLong);
  gpu.set_threads(3);
  gpu.set_budget({100'000'000, 300'000});
  const auto out = gpu.upload("out", Words(200 * 64, 0));
  const auto failure = gpu.launch("hash", {{200, 1, 1}, {64, 1, 1}}, out, 100);
  REQUIRE(failure);
  CHECK(failure->verdict == evo::Verdict::timed_out);
  CHECK(failure->reason == "kernel hash has not ended after 300000 warp instructions");
}

TEST_CASE("kernels whose blocks may communicate are distinguished from those whose blocks cannot") {
  TestGpu gpu;
  gpu.load_cuda(kLong);
  for (const char* name : {"hash", "fall_over", "count_in_shared"})
    CHECK(gpu.module().kernel(name)->independent_blocks);
  for (const char* name : {"count", "watch", "fence", "speak"})
    CHECK_FALSE(gpu.module().kernel(name)->independent_blocks);
}

TEST_CASE("modelled costs do not depend on the number of threads") {
  std::vector<double> costs;
  std::vector<std::uint64_t> instructions;
  for (const int threads : {1, 4}) {
    const auto gpu = make_device("h200", threads);
    std::optional<evo::Failure> failure;
    evo::Binary binary;
    binary.ptx = ptx_of(kLong);
    const auto module = gpu->load(binary, failure);
    REQUIRE(module);
    const auto out = gpu->allocate(200 * 64 * 4, "out");
    evo::Launch launch;
    launch.kernel = "hash";
    launch.grid = {200, 1, 1};
    launch.block = {64, 1, 1};
    std::vector<std::vector<std::byte>> arguments(2);
    arguments[0].resize(8);
    std::memcpy(arguments[0].data(), &out, 8);
    arguments[1].resize(4);
    const int rounds = 400;
    std::memcpy(arguments[1].data(), &rounds, 4);
    KernelRun run;
    failure = gpu->run_kernel(*module, launch, arguments, run);
    REQUIRE_FALSE(failure);
    costs.push_back(run.cost.latency_us);
    instructions.push_back(run.warp_instructions);
  }
  CHECK(costs[0] == costs[1]);
  CHECK(costs[0] > 0);
  CHECK(instructions[0] == instructions[1]);
}

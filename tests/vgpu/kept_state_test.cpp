// What a call of a plan leaves behind saves the next one no work: kernels that try to know what an earlier call did.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/times/device_bench.h"

using namespace evo;
using Catch::Approx;

namespace {

constexpr int kWords = 4096;

const std::string kKernels = R"(
__device__ unsigned long long address_of(const void* at) { return (unsigned long long)at; }
__device__ void work(unsigned* out) {
  unsigned hash = blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (int round = 0; round < 1000; ++round) hash = (hash ^ hash >> 13) * 1664525u;
  out[blockIdx.x * blockDim.x + threadIdx.x] = hash;
}
#define KERNEL(name) extern "C" __global__ void name(unsigned* out, unsigned long long* state)
KERNEL(honest) { work(out); }
// Where answers are, in what malloc gave: the pointer is in a workspace.
KERNEL(by_pointer) {
  unsigned* kept = (unsigned*)state[blockIdx.x];
  if (kept != nullptr && *kept == 77) return;
  work(out);
  if (threadIdx.x == 0) {
    kept = (unsigned*)malloc(4);
    *kept = 77;
    state[blockIdx.x] = (unsigned long long)kept;
  }
}
// A heap that an earlier call has filled has no room. Blocks of this call free what they took.
KERNEL(by_full_heap) {
  void* first = malloc(4 << 20);
  if (first == nullptr) return;
  if (threadIdx.x != 0) free(first);
  work(out);
}
// An earlier call's numbers, where nobody has cleared them.
KERNEL(by_shared) {
  __shared__ unsigned kept[512];
  volatile unsigned* all = kept;
  if (all[500] == 77) return;
  work(out);
  all[500] = 77;
}
KERNEL(by_shared_address) {
  __shared__ unsigned room[512];
  volatile unsigned* all = room;
  if (state == nullptr) all[threadIdx.x] = 1;
  unsigned kept;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(kept) : "r"(2000));
  if (kept == 77) return;
  work(out);
  asm volatile("st.volatile.shared.u32 [%0], %1;" :: "r"(2000), "r"(77));
}
KERNEL(by_local) {
  volatile unsigned kept[64];
  if (kept[threadIdx.x % 64] == 77) return;
  work(out);
  kept[threadIdx.x % 64] = 77;
}
KERNEL(by_timer) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (now > 100000) return;
  work(out);
}
KERNEL(by_clock) {
  if (clock64() > 100000) return;
  work(out);
}
KERNEL(where_malloc_is) {
  if (blockIdx.x + threadIdx.x == 0) state[0] = address_of(malloc(16));
}
)";

struct Bench : vgpu::DeviceBench {
  explicit Bench(std::optional<std::uint64_t> salt = {})
      : DeviceBench(vgpu::ptx_of(kKernels), {{"out", DType::s32, kWords * 4, true}}, {"state", 64 * 8, false}, 1,
                    salt) {}

  Plan plan_of(const std::string& kernel) const {
    return plan_with({launch_of(kernel, 64, 64, {tensor(0), workspace()})});
  }
  double timed(const std::string& kernel) { return DeviceBench::timed(plan_of(kernel)); }
  std::uint64_t state() const {
    const std::vector<std::uint32_t> halves = words(buffers.workspaces[0], 2);
    return halves[0] | std::uint64_t{halves[1]} << 32;
  }
};

}  // namespace

TEST_CASE("what shared or local memory, a timer or a full heap tell is the same in each call") {
  Bench bench;
  const double honest = bench.timed("honest");
  for (const char* kernel : {"by_shared", "by_shared_address", "by_local", "by_timer", "by_clock"}) {
    INFO(kernel);
    const double first = bench.timed(kernel);
    CHECK(first > 0.9 * honest);
    for (int call = 0; call < 3; ++call) CHECK(bench.timed(kernel) == first);
  }
}

TEST_CASE("a heap that an earlier call has filled is empty again") {
  Bench bench;
  const Plan plan = bench.plan_of("by_full_heap");
  const auto answers = [&] {
    bench.device->fill(bench.buffers.tensors[0], std::byte{0}, kWords * 4);
    REQUIRE_FALSE(bench.device->run(*bench.module, plan, bench.buffers));
    return bench.words(bench.buffers.tensors[0], kWords);
  };
  const std::vector<std::uint32_t> first = answers();
  CHECK(std::ranges::count(first, 0u) < kWords);
  CHECK(answers() == first);
}

TEST_CASE("what a kernel has from malloc is gone in the next call") {
  Bench bench;
  const Plan plan = bench.plan_of("by_pointer");
  REQUIRE_FALSE(bench.device->run(*bench.module, plan, bench.buffers));
  const auto failure = bench.device->run(*bench.module, plan, bench.buffers);
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::crashed);
  CHECK(failure->reason.find("by_pointer") != std::string::npos);
}

TEST_CASE("an address from malloc does not tell how many calls there were") {
  Bench bench(5);
  const Plan plan = bench.plan_of("where_malloc_is");
  std::vector<std::uint64_t> addresses;
  for (int call = 0; call < 12; ++call) {
    REQUIRE_FALSE(bench.device->run(*bench.module, plan, bench.buffers));
    addresses.push_back(bench.state());
  }
  CHECK_FALSE(std::ranges::is_sorted(addresses));
  CHECK_FALSE(std::ranges::is_sorted(addresses, std::greater<>()));
  std::ranges::sort(addresses);
  CHECK(std::ranges::adjacent_find(addresses) == addresses.end());
}

// What a call of a plan leaves behind saves the next one no work: kernels that try to know what an earlier call did.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/vgpu/virtual_device.h"
#include "tests/vgpu/gpu_for_tests.h"

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

struct Bench {
  std::unique_ptr<vgpu::VirtualGpu> device;
  std::unique_ptr<Module> module;
  Buffers buffers;
  std::optional<Failure> failure;

  explicit Bench(std::optional<std::uint64_t> salt = {}) : device(vgpu::make_device("h200", 1, salt)) {
    Binary binary;
    binary.ptx = vgpu::ptx_of(kKernels);
    module = device->load(binary, failure);
    REQUIRE_FALSE(failure);
    buffers.tensors.push_back(device->allocate(kWords * 4, "out"));
    buffers.workspaces.push_back(device->allocate(64 * 8, "state"));
    device->fill(buffers.workspaces[0], std::byte{0}, 64 * 8);
  }
  Plan plan_of(const std::string& kernel) const {
    Plan plan;
    plan.tensors = {{"out", DType::s32, kWords * 4, true}};
    plan.workspaces = {{"state", 64 * 8, false}};
    Launch launch;
    launch.kernel = kernel;
    launch.grid = {64, 1, 1};
    launch.block = {64, 1, 1};
    launch.arguments = {{Argument::Kind::tensor, 0}, {Argument::Kind::workspace, 0}};
    plan.launches.push_back(launch);
    return plan;
  }
  double timed(const std::string& kernel) {
    return device->time(*module, plan_of(kernel), {&buffers, 1}, {}, failure).median_us;
  }
  std::uint64_t state() const {
    std::uint64_t word = 0;
    device->download(std::as_writable_bytes(std::span(&word, 1)), buffers.workspaces[0]);
    return word;
  }
};

}  // namespace

TEST_CASE("what shared or local memory, a timer or a full heap tell is the same in each call") {
  Bench bench;
  const double honest = bench.timed("honest");
  for (const char* kernel : {"by_shared", "by_shared_address", "by_local", "by_timer", "by_clock"}) {
    INFO(kernel);
    const double first = bench.timed(kernel);
    REQUIRE_FALSE(bench.failure);
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
    std::vector<std::uint32_t> out(kWords);
    bench.device->download(std::as_writable_bytes(std::span(out)), bench.buffers.tensors[0]);
    return out;
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

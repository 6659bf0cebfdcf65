// Which blocks a modelled time stands on: whatever few blocks do, all blocks count.
#include <array>
#include <catch2/catch_approx.hpp>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/times/device_bench.h"

using namespace evo;
using Catch::Approx;

namespace {

constexpr int kWords = 4096;

const std::string kKernels = R"(
__device__ float table[4] = {1, 2, 3, 4};
__device__ unsigned hashed(unsigned hash, int rounds) {
  for (int round = 0; round < rounds; ++round) hash = (hash ^ hash >> 13) * 1664525u;
  return hash;
}
__device__ void work(unsigned* out, int rounds) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at] += hashed(at, rounds);
}
extern "C" __global__ void even(unsigned* in, unsigned* out, unsigned* flag, int n) { work(out, n); }
// The blocks that are traced where nobody looks at what the others do.
extern "C" __global__ void thirds_idle(unsigned* in, unsigned* out, unsigned* flag, int n) {
  const int b = blockIdx.x, last = gridDim.x - 1;
  if (b != 0 && b != last && b != gridDim.x / 2) work(out, n);
}
extern "C" __global__ void odd_idle(unsigned* in, unsigned* out, unsigned* flag, int n) {
  if (blockIdx.x % 2 == 0) work(out, n);
}
extern "C" __global__ void one_warp(unsigned* in, unsigned* out, unsigned* flag, int n) {
  if (blockIdx.x == 5 && threadIdx.x < 32) work(out, n);
}
// As many instructions in every block; half of them wait for memory.
extern "C" __global__ void chases(unsigned* in, unsigned* out, unsigned* flag, int n) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = at;
  if (blockIdx.x % 2 == 0) {
    for (int i = 0; i < n; ++i) v = in[(v * 977u + i) % 4096] + 1;
  } else {
    for (int i = 0; i < n; ++i) v = (v * 977u + i) % 4096 + (v >> 13) + 1;
  }
  out[at] = v;
}
extern "C" __global__ void spins(unsigned* in, unsigned* out, unsigned* flag, int n) {
  if (blockIdx.x == 0) {
    work(out, n);
    __threadfence();
    if (threadIdx.x == 0) atomicExch(flag, 1u);
  } else if (threadIdx.x == 0) {
    while (*(volatile unsigned*)flag == 0) {}
  }
}
extern "C" __global__ void done_before(unsigned* in, unsigned* out, unsigned* flag, int n) {
  const bool done = in[blockIdx.x] == 7;
  __syncthreads();
  if (threadIdx.x == 0) in[blockIdx.x] = 7;
  if (!done) work(out, n * (1 + blockIdx.x % 4));
}
// Leaves its address where it finds none, and else what was there.
extern "C" __global__ void notes_place(unsigned long long* in, unsigned long long* out, unsigned*, int) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    out[1] = in[0];
    in[0] = (unsigned long long)out;
    out[0] = (unsigned long long)in;
  }
}
extern "C" __global__ void writes_to(unsigned long long address) { *(volatile float*)address = 9; }
extern "C" __global__ void reads_table(float* out) { out[threadIdx.x] = table[threadIdx.x]; }
)";

struct Bench : vgpu::DeviceBench {
  explicit Bench(int threads = 1, std::optional<std::uint64_t> salt = {})
      : DeviceBench(vgpu::ptx_of(kKernels),
                    {{"in", DType::s32, kWords * 4, false}, {"out", DType::s32, kWords * 4, true}}, {"flag", 4, true},
                    threads, salt) {}

  Plan plan_of(const std::string& kernel, std::uint32_t blocks, int n) const {
    return plan_with({launch_of(kernel, blocks, 64, {tensor(0), tensor(1), workspace(), Argument::of_int(n)})});
  }
  using DeviceBench::timed;
  double timed(const std::string& kernel, std::uint32_t blocks, int n) {
    return DeviceBench::timed(plan_of(kernel, blocks, n));
  }
  std::vector<std::uint32_t> out() const { return words(buffers.tensors[1], kWords); }
};

}  // namespace

TEST_CASE("a kernel that idles in the first, the middle and the last block takes as long as its other blocks") {
  Bench bench;
  const double honest = bench.timed("even", 5, 3000);
  CHECK(honest > 10);
  CHECK(bench.timed("thirds_idle", 5, 3000) == Approx(honest).epsilon(0.02));
  CHECK(bench.timed("thirds_idle", 64, 3000) == Approx(honest).epsilon(0.02));
}

TEST_CASE("blocks that idle do not stand for those that work") {
  Bench bench;
  const double honest = bench.timed("even", 64, 3000);
  CHECK(bench.timed("odd_idle", 64, 3000) == Approx(honest).epsilon(0.02));
  CHECK(bench.timed("one_warp", 64, 3000) == Approx(honest).epsilon(0.05));
}

TEST_CASE("blocks that execute as many instructions are told apart by what those ask for") {
  Bench bench;
  const double mixed = bench.timed("chases", 64, 1000), arithmetic = bench.timed("even", 64, 1000);
  CHECK(mixed > 3 * arithmetic);
}

TEST_CASE("waiting for another block's flag costs what the other block takes") {
  Bench bench;
  const double alone = bench.timed("spins", 1, 3000);
  CHECK(bench.timed("spins", 2, 3000) == Approx(alone).epsilon(0.05));
  CHECK(bench.timed("spins", 64, 3000) == Approx(alone).epsilon(0.05));
  CHECK(bench.timed("spins", 64, 1) < 3);
}

TEST_CASE("a model that runs few blocks runs all where they wait for each other") {
  Bench bench;
  const Plan plan = bench.plan_of("spins", 64, 3000);
  const double timed = bench.timed(plan);
  CHECK(bench.modelled(plan) == Approx(timed));
}

TEST_CASE("what is computed in place is computed once, however many blocks are traced") {
  Bench bench;
  bench.timed("odd_idle", 64, 3);
  const std::vector<std::uint32_t> timed = bench.out();
  bench.device->fill(bench.buffers.tensors[1], std::byte{0}, kWords * 4);
  bench.failure = bench.device->run(*bench.module, bench.plan_of("odd_idle", 64, 3), bench.buffers);
  REQUIRE_FALSE(bench.failure);
  CHECK(timed == bench.out());
}

TEST_CASE("a block that executes something else when it runs again makes the launch unrepeatable") {
  Bench bench;
  bench.timing(bench.plan_of("done_before", 64, 300));
  REQUIRE(bench.failure);
  CHECK(bench.failure->verdict == Verdict::unrepeatable);
}

TEST_CASE("the same inputs give the same modelled time with any number of threads") {
  const double one = Bench(1).timed("thirds_idle", 64, 500), four = Bench(4).timed("thirds_idle", 64, 500);
  CHECK(one == four);
  CHECK(Bench(1).timed("chases", 64, 500) == Bench(4).timed("chases", 64, 500));
}

TEST_CASE("a plan writes its own buffers and nothing else") {
  Bench bench;
  const DeviceAddress other = bench.device->allocate(64, "other");
  Plan plan = bench.plan_with({Bench::launch_of("writes_to", 1, 1, {})});
  const auto fails_at = [&](DeviceAddress address) {
    plan.launches[0].arguments = {
        {Argument::Kind::value, 0, {{{DType::s64, 1}, {static_cast<std::int64_t>(address)}}}}};
    return bench.device->run(*bench.module, plan, bench.buffers);
  };
  CHECK_FALSE(fails_at(bench.buffers.tensors[1]));
  const auto failure = fails_at(other);
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::crashed);
  CHECK(failure->reason.find("'other'") != std::string::npos);
  // Without a plan the launch may write whatever there is.
  const std::vector<std::byte> argument(reinterpret_cast<const std::byte*>(&other),
                                        reinterpret_cast<const std::byte*>(&other) + sizeof other);
  vgpu::KernelRun run;
  CHECK_FALSE(bench.device->run_kernel(*bench.module, plan.launches[0], {{argument}}, run));
}

TEST_CASE("a table that a program only reads cannot be written through another address") {
  Bench bench;
  const auto variables = bench.device->variables(*bench.module);
  const auto table = std::ranges::find(variables, "table", &vgpu::DeclaredVariable::name);
  REQUIRE(table != variables.end());
  const std::uint64_t address = table->address;
  const std::vector<std::byte> argument(reinterpret_cast<const std::byte*>(&address),
                                        reinterpret_cast<const std::byte*>(&address) + sizeof address);
  vgpu::KernelRun run;
  const Launch launch = Bench::launch_of("writes_to", 1, 1, {});
  const auto failure = bench.device->run_kernel(*bench.module, launch, {{argument}}, run);
  REQUIRE(failure);
  CHECK(failure->reason.find("'table'") != std::string::npos);
}

TEST_CASE("with a salt a plan's buffers are elsewhere in each call, and keep what they hold") {
  Bench bench(1, 1);
  const Plan plan = bench.plan_of("notes_place", 1, 1);
  std::array<std::uint64_t, 2> first{}, second{};
  const auto call = [&](std::array<std::uint64_t, 2>& noted) {
    bench.failure = bench.device->run(*bench.module, plan, bench.buffers);
    if (bench.failure) FAIL(bench.failure->reason);
    bench.device->download(std::as_writable_bytes(std::span(noted)), bench.buffers.tensors[1]);
  };
  call(first);
  call(second);
  CHECK(first[1] == 0);
  CHECK(second[1] != 0);
  CHECK(second[0] != first[0]);
  CHECK(second[0] % 4096 == first[0] % 4096);
}

TEST_CASE("with a salt nobody foresees where a buffer is") {
  const auto places = [](std::optional<std::uint64_t> salt) {
    const auto device = vgpu::make_device("h200", 1, salt);
    const DeviceAddress first = device->allocate(100, "a");
    return std::pair(first, device->allocate(100, "b") - first);
  };
  CHECK(places({}) == places({}));
  CHECK(places(1).first != places(2).first);
  CHECK(places(1).second != places(2).second);
  CHECK(places(1).first % 4096 == places({}).first % 4096);
}

// Blocks that wait for what other blocks write: a wait costs until that is written, and spinning costs nothing.
#include <catch2/catch_approx.hpp>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/times/device_bench.h"

using namespace evo;
using Catch::Approx;

namespace {

constexpr std::size_t kWords = 300 * 1024;
constexpr std::size_t kFlags = 8192;

const std::string kKernels = R"(
#include <cooperative_groups.h>
__device__ unsigned hashed(unsigned hash, int rounds) {
  for (int round = 0; round < rounds; ++round) hash = (hash ^ hash >> 13) * 1664525u;
  return hash;
}
__device__ void work(unsigned* out, int rounds) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at] = hashed(at, rounds);
}
// `own` rounds that depend on nobody, then `n` that the block before must have ended.
extern "C" __global__ void apart(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)(flag + 1) = blockIdx.x;
}
extern "C" __global__ void chain(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  if (threadIdx.x == 0) while (*(volatile unsigned*)flag != blockIdx.x) {}
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)flag = blockIdx.x + 1;
}
extern "C" __global__ void naps(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  if (threadIdx.x == 0) while (*(volatile unsigned*)flag != blockIdx.x) __nanosleep(100);
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)flag = blockIdx.x + 1;
}
// All threads of the block meet in each round.
extern "C" __global__ void semaphore(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  unsigned state = ~0u;
  while (__syncthreads_and(state != blockIdx.x)) {
    if (threadIdx.x == 0) asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(flag));
  }
  __syncthreads();
  work(out, n);
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("st.global.release.gpu.b32 [%0], %1;" ::"l"(flag), "r"(blockIdx.x + 1));
}
extern "C" __global__ void ticket(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  if (threadIdx.x == 0) {
    const unsigned mine = atomicAdd(flag + 1, 1);
    while (*(volatile unsigned*)flag != mine) {}
  }
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(flag, 1);
}
extern "C" __global__ void lock(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  if (threadIdx.x == 0) while (atomicCAS(flag, 0, 1) != 0) {}
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(flag, 0);
}
// One thread looks, and tells the others through shared memory.
extern "C" __global__ void tells(unsigned* flag, unsigned* out, int own, int n) {
  __shared__ unsigned seen;
  work(out, own);
  do {
    __syncthreads();
    if (threadIdx.x == 0) seen = *(volatile unsigned*)flag;
    __syncthreads();
  } while (seen != blockIdx.x);
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)flag = blockIdx.x + 1;
}
// A function looks. Who waits for very long traps.
__device__ __noinline__ unsigned looks(unsigned* flag) { return *(volatile unsigned*)flag; }
extern "C" __global__ void calls(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  const long long begin = clock64();
  if (threadIdx.x == 0) {
    while (looks(flag) != blockIdx.x)
      if (clock64() - begin > 1ll << 40) __trap();
  }
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)flag = blockIdx.x + 1;
}
// How often a block has looked stands in global memory.
extern "C" __global__ void counts(unsigned* flag, unsigned* out, int own, int n) {
  work(out, own);
  if (threadIdx.x == 0)
    while (*(volatile unsigned*)flag != blockIdx.x) ++flag[1 + blockIdx.x];
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)flag = blockIdx.x + 1;
}
// Blocks in groups of four add to one tile in turn.
extern "C" __global__ void split_k(unsigned* flag, unsigned* out, int own, int n) {
  const int tile = blockIdx.x / 4, part = blockIdx.x % 4;
  work(out, own);
  if (threadIdx.x == 0) while (*(volatile unsigned*)(flag + tile) != part) {}
  __syncthreads();
  work(out, n);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile unsigned*)(flag + tile) = part + 1;
}
// All wait for all, by hand and by the grid's barrier.
extern "C" __global__ void meets(unsigned* flag, unsigned* out, int own, int n) {
  work(out, blockIdx.x == 7 ? own : 1);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(flag, 1);
    while (*(volatile unsigned*)flag < gridDim.x) {}
  }
  __syncthreads();
  work(out, n);
}
extern "C" __global__ void syncs(unsigned* flag, unsigned* out, int own, int n) {
  work(out, blockIdx.x == 7 ? own : 1);
  cooperative_groups::this_grid().sync();
  work(out, n);
}
extern "C" __global__ void missed(unsigned* flag, unsigned* out, int own, int n) {
  if (blockIdx.x % 2 == 0) cooperative_groups::this_grid().sync();
}
extern "C" __global__ void never(unsigned* flag, unsigned* out, int own, int n) {
  while (*(volatile unsigned*)flag == 0) {}
}
// Lanes of a warp take one lock in turn.
extern "C" __global__ void lanes(unsigned* flag, unsigned* out, int own, int n) {
  while (atomicCAS(flag, 0, 1) != 0) {}
  *(volatile unsigned*)(flag + 1) += 1;
  __threadfence();
  atomicExch(flag, 0);
}
// Decoupled look-back: low word 1, the tile's sum is known; 2, that of all up to it.
extern "C" __global__ void look_back(unsigned* flag, unsigned* out, int own, int n) {
  __shared__ unsigned before;
  volatile unsigned long long* state = (volatile unsigned long long*)(flag + 2);
  const int b = blockIdx.x, t = threadIdx.x;
  const unsigned sum = hashed(b, own) % 8;
  if (t == 0) state[b] = (unsigned long long)sum << 32 | (b == 0 ? 2 : 1);
  if (t < 32 && b > 0) {
    unsigned all = 0;
    for (int at = b - 1 - t;; at -= 32) {
      unsigned long long seen;
      do {
        seen = at >= 0 ? state[at] : 2ull;
      } while (__any_sync(~0u, (unsigned)seen == 0));
      const unsigned complete = __ballot_sync(~0u, (unsigned)seen == 2);
      const int last = complete ? __ffs(complete) - 1 : 31;
      unsigned part = t <= last ? (unsigned)(seen >> 32) : 0;
      for (int d = 16; d > 0; d /= 2) part += __shfl_xor_sync(~0u, part, d);
      all += part;
      if (complete) break;
    }
    if (t == 0) {
      before = all;
      state[b] = (unsigned long long)(all + sum) << 32 | 2;
    }
  }
  if (b == 0 && t == 0) before = 0;
  __syncthreads();
  out[b * blockDim.x + t] = before + sum;
}
)";

struct Bench : vgpu::DeviceBench {
  Bench() : DeviceBench(vgpu::ptx_of(kKernels), {{"out", DType::s32, kWords * 4, true}}, {"flag", kFlags * 4, true}) {}

  Plan plan_of(const std::string& kernel, std::uint32_t blocks, int own, int n) const {
    return plan_with(
        {launch_of(kernel, blocks, 64, {workspace(), tensor(0), Argument::of_int(own), Argument::of_int(n)})});
  }
  double timed(const std::string& kernel, std::uint32_t blocks, int own, int n) {
    return DeviceBench::timed(plan_of(kernel, blocks, own, n));
  }
};

}  // namespace

TEST_CASE("a chain of blocks takes as long as all its links, one after the other", "[long]") {
  Bench bench;
  // A link beyond its work: the flag's way to the next block, and what is left of a launch once it is there.
  for (const char* kernel : {"chain", "naps", "semaphore", "ticket", "lock", "tells", "calls"}) {
    INFO(kernel);
    const double one = bench.timed(kernel, 1, 1, 1000), two = bench.timed(kernel, 2, 1, 1000);
    const double link = two - one;
    CHECK(link > 0.95 * (bench.timed("apart", 1, 1, 1000) - bench.timed("apart", 1, 1, 1)));
    CHECK(bench.timed(kernel, 100, 1, 1000) == Approx(one + 99 * link).epsilon(0.08));
  }
}

TEST_CASE("blocks whose waits leave something behind run side by side") {
  Bench bench;
  const double two = bench.timed("chain", 2, 1, 1000);
  CHECK(bench.timed("counts", 2, 1, 1000) < 2 * two);
}

TEST_CASE("what a block does before it waits costs once") {
  Bench bench;
  const double before = bench.timed("apart", 1, 4000, 1) - bench.timed("apart", 1, 1, 1);
  for (const char* kernel : {"chain", "semaphore", "ticket"}) {
    INFO(kernel);
    const double chain = bench.timed(kernel, 40, 1, 300);
    CHECK(bench.timed(kernel, 40, 4000, 300) == Approx(chain + before).epsilon(0.05));
  }
}

TEST_CASE("blocks that do not wait take as long as one") {
  Bench bench;
  CHECK(bench.timed("apart", 100, 1, 1000) == Approx(bench.timed("apart", 1, 1, 1000)).epsilon(0.05));
}

TEST_CASE("only the blocks that wait for each other are a chain") {
  Bench bench;
  CHECK(bench.timed("split_k", 100, 1, 1000) == Approx(bench.timed("chain", 4, 1, 1000)).epsilon(0.05));
}

TEST_CASE("a barrier of the grid ends when the last block has come, however few its steps are") {
  Bench bench;
  for (const char* kernel : {"meets", "syncs"}) {
    INFO(kernel);
    const double quick = bench.timed(kernel, 64, 1, 1000), late = bench.timed(kernel, 64, 5000, 1000);
    const double more = bench.timed("apart", 1, 5000, 1) - bench.timed("apart", 1, 1, 1);
    CHECK(late == Approx(quick + more).epsilon(0.05));
  }
}

TEST_CASE("a scan that looks back does not wait for each block in turn") {
  Bench bench;
  const double one = bench.timed("look_back", 1, 10, 0), many = bench.timed("look_back", 1000, 10, 0);
  CHECK(many > one + 1);
  CHECK(many < one + 30);  // 1000 links take 300 us.
  const std::vector<std::uint32_t> sums = bench.words(bench.buffers.tensors[0], 64 * 1000);
  std::uint32_t all = 0;
  for (std::size_t b = 0; b < 1000; ++b) {
    std::uint32_t hash = static_cast<std::uint32_t>(b);
    for (int round = 0; round < 10; ++round) hash = (hash ^ hash >> 13) * 1664525u;
    all += hash % 8;
    REQUIRE(sums[64 * b] == all);
  }
}

TEST_CASE("what a model alone says of blocks that wait is what a run says") {
  Bench bench;
  for (const char* kernel : {"chain", "semaphore", "lock", "meets"}) {
    INFO(kernel);
    const double timed = bench.timed(kernel, 32, 100, 300);
    CHECK(bench.modelled(bench.plan_of(kernel, 32, 100, 300)) == timed);
  }
}

TEST_CASE("a barrier of the grid that a block never reaches is a deadlock with the block and the line") {
  Bench bench;
  const auto failure = bench.device->run(*bench.module, bench.plan_of("missed", 4, 0, 0), bench.buffers);
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::crashed);
  CHECK(failure->reason.find("deadlock") != std::string::npos);
  CHECK(failure->reason.find("the grid's barrier, to which blocks (1, 0, 0), (3, 0, 0) never come") !=
        std::string::npos);
}

TEST_CASE("a flag that nobody sets is a deadlock with the place of the flag") {
  Bench bench;
  const auto failure = bench.device->run(*bench.module, bench.plan_of("never", 300, 0, 0), bench.buffers);
  REQUIRE(failure);
  CHECK(failure->reason.find("deadlock") != std::string::npos);
  CHECK(failure->reason.find("at byte 0 of 'flag'") != std::string::npos);
  CHECK(failure->reason.find("which nobody writes any more") != std::string::npos);
}

TEST_CASE("lanes that take a lock in turn hand it over after few instructions") {
  Bench bench;
  const double few = bench.timed("lanes", 2, 0, 0), many = bench.timed("lanes", 8, 0, 0);
  CHECK(many == Approx(4 * few).epsilon(0.2));
  CHECK(bench.words(bench.buffers.workspaces[0], 2) == std::vector<std::uint32_t>{0, 512});
}

#include "evaluator/vgpu/ptx/control_flow.h"

#include <cmath>

#include "tests/vgpu/gpu_for_tests.h"

using namespace evo::vgpu;

namespace {

/// Runs `extern "C" __global__ void k(int* out, const int* in, int n)` over n threads and returns out.
std::vector<int> run_ints(const std::string& source, const std::vector<int>& in, std::uint32_t block = 64) {
  TestGpu gpu;
  gpu.load_cuda(source);
  const auto in_at = gpu.upload("in", in);
  const auto out_at = gpu.upload("out", std::vector<int>(in.size(), -1));
  const auto blocks = static_cast<std::uint32_t>((in.size() + block - 1) / block);
  const auto failure = gpu.launch("k", {{blocks, 1, 1}, {block, 1, 1}}, out_at, in_at, static_cast<int>(in.size()));
  if (failure) FAIL(failure->reason);
  return gpu.download<int>(out_at, in.size());
}

std::vector<int> counting(int n) {
  std::vector<int> values;
  for (int i = 0; i < n; ++i) values.push_back((i * 37 + 11) % 101);
  return values;
}

constexpr const char* kHead = R"(extern "C" __global__ void k(int* out, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
)";

}  // namespace

TEST_CASE("an early return leaves the other threads running") {
  const auto in = counting(150);
  const auto out =
      run_ints(std::string(kHead) + "if (i >= n) return; if (in[i] % 3 == 0) return; out[i] = in[i] * 2; }", in);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == (in[i] % 3 == 0 ? -1 : in[i] * 2));
}

TEST_CASE("nested branches take every path and reconverge") {
  const auto in = counting(200);
  const auto out = run_ints(std::string(kHead) + R"(
    if (i >= n) return;
    int x = in[i], y = 0;
    if (x > 50) { if (x % 2) { y = x * 3; } else { y = x - 7; if (x % 4 == 0) y += 1000; } } else { if (x < 10) y = 5; y -= x; }
    const unsigned together = __activemask();
    out[i] = y + (__popc(together) == 32 || i / 32 == (n - 1) / 32 ? 0 : 1000000);
  })",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int x = in[i];
    const int expected = x > 50 ? (x % 2 ? x * 3 : x - 7 + (x % 4 == 0 ? 1000 : 0)) : (x < 10 ? 5 : 0) - x;
    CHECK(out[i] == expected);
  }
}

TEST_CASE("loops of different length, with break and continue, converge afterwards") {
  const auto in = counting(96);
  const auto out = run_ints(std::string(kHead) + R"(
    int sum = 0;
    #pragma unroll 1
    for (int j = 0; j < in[i]; ++j) {
      if (j % 5 == 3) continue;
      if (sum > 700) break;
      #pragma unroll 1
      for (int t = 0; t < (j & 3); ++t) { if (t == 2 && (i & 1)) break; sum += t + 1; }
      sum += j;
    }
    sum += __shfl_xor_sync(~0u, sum, 1) * 100000;
    out[i] = sum;
  })",
                            in, 32);
  std::vector<int> sums;
  for (std::size_t i = 0; i < in.size(); ++i) {
    int sum = 0;
    for (int j = 0; j < in[i]; ++j) {
      if (j % 5 == 3) continue;
      if (sum > 700) break;
      for (int t = 0; t < (j & 3); ++t) {
        if (t == 2 && (i & 1)) break;
        sum += t + 1;
      }
      sum += j;
    }
    sums.push_back(sum);
  }
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == sums[i] + sums[i ^ 1] * 100000);
}

TEST_CASE("a switch with a branch table sends every lane to its case") {
  const auto in = counting(128);
  std::string cases;
  for (int c = 0; c < 16; ++c)
    cases += "case " + std::to_string(c) + ": v = in[(i + " + std::to_string(c * 3) + ") % n] * " +
             std::to_string(c + 2) + "; out[i] = v; break;\n";
  const auto out =
      run_ints(std::string(kHead) + "int v = 1; switch (in[i] % 20) {" + cases + "default: out[i] = -5; } }", in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int c = in[i] % 20;
    CHECK(out[i] == (c < 16 ? in[(i + static_cast<std::size_t>(c) * 3) % in.size()] * (c + 2) : -5));
  }
}

TEST_CASE("brx.idx jumps through its table, diverging") {
  const auto got = run_snippet(R"(
    and.b32 b32, a32, 3;
    t: .branchtargets zero, one, two, zero;
    brx.idx b32, t;
    zero: mov.u32 d32, 100; bra end;
    one: mov.u32 d32, 200; add.u32 d32, d32, a32; bra end;
    two: mov.u32 d32, 300;
    end: add.u32 d32, d32, 1;)",
                               32, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {5, 0, 0}, {6, 0, 0}});
  CHECK(got == std::vector<std::uint64_t>{101, 202, 301, 101, 206, 301});
}

TEST_CASE("a brx.idx beyond its table fails the kernel") {
  TestGpu gpu;
  gpu.load_ptx(R"(.version 9.0
.target sm_90
.address_size 64
.entry k() { .reg .b32 x; mov.u32 x, 7;
t: .branchtargets a, b;
brx.idx x, t; a: ret; b: ret; })");
  const auto failure = gpu.launch("k", {});
  REQUIRE(failure);
  CHECK(contains(failure->reason, "the index 7 is beyond the table"));
}

TEST_CASE("device functions are called, also by diverged lanes, with structs and local arrays") {
  const auto in = counting(64);
  const auto out = run_ints(R"(
    struct Pair { int a; long long b; };
    __device__ __noinline__ Pair twist(int x, int n) {
      int table[8];
      for (int i = 0; i < 8; ++i) table[i] = x * i + n;
      return {table[x & 7], (long long)x * n};
    }
    __device__ __noinline__ int outer(int x) { if (x > 60) return -x; const Pair p = twist(x, 3); return p.a + (int)p.b; }
    )" + std::string(kHead) + "out[i] = in[i] % 2 ? outer(in[i]) : in[i] + (int)twist(i, 5).b; }",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int x = in[i], t = static_cast<int>(i);
    CHECK(out[i] == (x % 2 ? (x > 60 ? -x : x * (x & 7) + 3 + x * 3) : x + t * 5));
  }
}

TEST_CASE("lanes of one warp can wait for each other's stores") {
  // One lane at a time takes the lock. Without independent scheduling of diverged lanes this never ends.
  const auto out = run_ints(R"(
    __device__ int lock = 0; __device__ int total = 0;
    )" + std::string(kHead) + R"(
    bool done = false;
    while (!done) {
      if (atomicCAS(&lock, 0, 1) == 0) {
        total += in[i];
        __threadfence();
        atomicExch(&lock, 0);
        done = true;
      }
    }
    __syncthreads();
    out[i] = total;
  })",
                            std::vector<int>(64, 3));
  for (const int total : out) CHECK(total == 192);
}

TEST_CASE("a spin on the flag of another warp or of another block ends") {
  const auto warps = run_ints(std::string(kHead) + R"(
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) { while (flag == 0) {} out[i] = flag; } else { flag = 7; out[i] = 1; }
  })",
                              std::vector<int>(64, 0));
  CHECK(warps[0] == 7);
  const auto blocks = run_ints(R"(__device__ volatile int arrived = 0;
    )" + std::string(kHead) + R"(
    if (threadIdx.x == 0) { atomicAdd((int*)&arrived, 1); while (arrived < gridDim.x) {} }
    __syncthreads();
    out[i] = arrived;
  })",
                               std::vector<int>(256, 0));
  for (const int arrived : blocks) CHECK(arrived == 4);
}

TEST_CASE("blocks synchronise repeatedly at a grid barrier that the kernel implements") {
  constexpr int kRounds = 6, kCount = 256;
  TestGpu gpu;
  gpu.load_cuda(R"(
    __device__ unsigned arrived;
    extern "C" __global__ void rotate(int* values, int n, int rounds) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      for (int r = 0; r < rounds; ++r) {
        values[(r + 1) * n + i] = values[r * n + (i + 1) % n] + 1;
        __syncthreads();
        if (threadIdx.x == 0) {
          __threadfence();
          atomicAdd(&arrived, 1);
          while (*(volatile unsigned*)&arrived < gridDim.x * (r + 1)) {}
          __threadfence();
        }
        __syncthreads();
      }
    })");
  std::vector<int> values(kCount * (kRounds + 1), 0);
  for (int i = 0; i < kCount; ++i) values[static_cast<std::size_t>(i)] = i;
  const auto at = gpu.upload("values", values);
  const auto failure = gpu.launch("rotate", {{4, 1, 1}, {64, 1, 1}}, at, kCount, kRounds);
  if (failure) FAIL(failure->reason);
  const auto got = gpu.download<int>(at, values.size());
  for (int i = 0; i < kCount; ++i)
    CHECK(got[static_cast<std::size_t>(kRounds * kCount + i)] == (i + kRounds) % kCount + kRounds);
}

TEST_CASE("post-dominators ignore paths that trap") {
  // 0: branch to 3; 1: trap; 2: (unreachable next) ; 3: leave
  std::vector<Flow> flows(4);
  flows[0] = {Flow::Kind::branch, {2}};
  flows[1] = {Flow::Kind::trap, {}};
  flows[2] = {Flow::Kind::branch, {3}};
  flows[3] = {Flow::Kind::leave, {}};
  const auto blocks = basic_blocks(flows);
  const auto meets = immediate_post_dominators(blocks, flows);
  REQUIRE(blocks.size() == 4);
  CHECK(meets[0] == 2);
  CHECK(meets[2] == 3);
  CHECK(meets[3] == -1);
}

TEST_CASE("NVRTC's double precision mathematics agrees with the host's") {
  TestGpu gpu;
  gpu.load_cuda(R"(extern "C" __global__ void k(double* out, const double* in, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    const double x = in[i];
    double* o = out + 6 * i;
    o[0] = exp(x); o[1] = sin(x * 1e6); o[2] = log(fabs(x) + 1e-3); o[3] = pow(fabs(x) + 0.5, 2.3); o[4] = tanh(x); o[5] = erf(x);
  })");
  std::vector<double> in;
  for (int i = 0; i < 40; ++i) in.push_back(-6.0 + 0.31 * i);
  const auto in_at = gpu.upload("in", in);
  const auto out_at = gpu.allocate("out", in.size() * 48);
  const auto failure = gpu.launch("k", {{1, 1, 1}, {64, 1, 1}}, out_at, in_at, static_cast<int>(in.size()));
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<double>(out_at, in.size() * 6);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = in[i];
    const double expected[6] = {
        std::exp(x),  std::sin(x * 1e6), std::log(std::fabs(x) + 1e-3), std::pow(std::fabs(x) + 0.5, 2.3),
        std::tanh(x), std::erf(x)};
    for (std::size_t j = 0; j < 6; ++j) {
      INFO("x=" << x << " function " << j);
      CHECK(std::fabs(out[6 * i + j] - expected[j]) <= 4e-16 * std::max(std::fabs(expected[j]), 1e-3) * 4);
    }
  }
}

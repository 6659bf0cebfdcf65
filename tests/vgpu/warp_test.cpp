#include "tests/vgpu/gpu_for_tests.h"

using namespace evo::vgpu;

namespace {

using U32 = std::uint32_t;

/// Runs `__global__ void k(unsigned* out, int n)` and returns `count` words.
std::vector<U32> run(const std::string& body, std::size_t count, std::uint32_t block = 32, int n = 0) {
  TestGpu gpu;
  gpu.load_cuda("extern \"C\" __global__ void k(unsigned* out, int n) {\n" + body + "\n}");
  const auto out = gpu.upload("out", std::vector<U32>(count, 0xdeadbeef));
  const auto failure = gpu.launch("k", {{1, 1, 1}, {block, 1, 1}}, out, n);
  if (failure) FAIL(failure->reason);
  return gpu.download<U32>(out, count);
}

std::string failure_of_kernel(const std::string& body, std::uint32_t block = 32, int n = 0) {
  TestGpu gpu;
  gpu.load_cuda("extern \"C\" __global__ void k(unsigned* out, int n) {\n" + body + "\n}");
  const auto out = gpu.upload("out", std::vector<U32>(1024, 0));
  gpu.set_budget({2'000'000, 100'000'000});
  const auto failure = gpu.launch("k", {{1, 1, 1}, {block, 1, 1}}, out, n);
  if (!failure) return "";
  return std::string(failure->verdict == evo::Verdict::timed_out ? "timed out: " : "crashed: ") + failure->reason;
}

}  // namespace

TEST_CASE("shuffles move values according to their mode and width") {
  const auto out = run(R"(
    const int t = threadIdx.x;
    out[t] = __shfl_sync(~0u, t * 3, 5);
    out[32 + t] = __shfl_sync(~0u, t, t + 9, 8);
    out[64 + t] = __shfl_up_sync(~0u, t, 3);
    out[96 + t] = __shfl_up_sync(~0u, t, 1, 16);
    out[128 + t] = __shfl_down_sync(~0u, t, 4, 8);
    out[160 + t] = __shfl_xor_sync(~0u, t, 11);
    out[192 + t] = (unsigned)__shfl_xor_sync(~0u, (long long)t << 33 | t, 1) + (unsigned)(__shfl_down_sync(~0u, (long long)t << 33, 31) >> 33);
  )",
                       224);
  for (U32 t = 0; t < 32; ++t) {
    CHECK(out[t] == 15);
    CHECK(out[32 + t] == (t & ~7u) + (t + 9) % 8);
    CHECK(out[64 + t] == (t < 3 ? t : t - 3));
    CHECK(out[96 + t] == (t % 16 < 1 ? t : t - 1));
    CHECK(out[128 + t] == ((t & 7) + 4 > 7 ? t : t + 4));
    CHECK(out[160 + t] == (t ^ 11));
    CHECK(out[192 + t] == (t ^ 1) + (t == 0 ? 31 : t));
  }
}

TEST_CASE("votes, matches and reductions see the lanes of their mask") {
  const auto out = run(R"(
    const int t = threadIdx.x;
    out[t] = __ballot_sync(~0u, t % 3 == 0);
    out[32 + t] = __all_sync(~0u, t < 32) * 1 + __all_sync(~0u, t < 31) * 2 + __any_sync(~0u, t == 7) * 4 + __any_sync(~0u, t > 40) * 8;
    out[64 + t] = __match_any_sync(~0u, t / 5);
    int same;
    out[96 + t] = __match_all_sync(~0u, t >= 0, &same) + same;
    out[128 + t] = __reduce_add_sync(~0u, t) + __reduce_max_sync(~0u, (unsigned)t * 7 % 32) + (unsigned)__reduce_min_sync(~0u, -t);
    if (t & 1) out[160 + t] = __reduce_or_sync(0xaaaaaaaau, 1u << t) ^ __activemask(); else out[160 + t] = __ballot_sync(0x55555555u, t > 15);
  )",
                       192);
  U32 thirds = 0;
  for (U32 t = 0; t < 32; t += 3) thirds |= 1u << t;
  for (U32 t = 0; t < 32; ++t) {
    U32 same = 0;
    for (U32 other = 0; other < 32; ++other) same |= static_cast<U32>(other / 5 == t / 5) << other;
    CHECK(out[t] == thirds);
    CHECK(out[32 + t] == 5);
    CHECK(out[64 + t] == same);
    CHECK(out[96 + t] == 0xffffffffu + 1u);
    CHECK(out[128 + t] == 496u + 31u + static_cast<U32>(-31));
    CHECK(out[160 + t] == ((t & 1) != 0 ? 0u : 0x55550000u));
  }
}

TEST_CASE("lanes in different branches converge at a shuffle that names them all") {
  // Each side of the branch has lanes of the mask; the function's one shfl is where they meet.
  const auto out = run(R"(
    const int t = threadIdx.x;
    int v = t;
    bool done = false;
    #pragma unroll 1
    for (int round = 0; round < 2 && !done; ++round) {
      if (t % 2 == round) { v = t * 10; done = true; }
    }
    out[t] = __shfl_xor_sync(~0u, v, 1);
  )",
                       32);
  for (U32 t = 0; t < 32; ++t) CHECK(out[t] == (t ^ 1) * 10);
}

TEST_CASE("__syncwarp on both sides of a branch joins the lanes of both") {
  const auto out = run(R"(
    __shared__ int s[32];
    const int t = threadIdx.x;
    if (t < 16) { s[t] = t; __syncwarp(); out[t] = s[t + 16]; } else { s[t] = t * 2; __syncwarp(); out[t] = s[t - 16]; }
  )",
                       32);
  for (U32 t = 0; t < 32; ++t) CHECK(out[t] == (t < 16 ? (t + 16) * 2 : t - 16));
}

TEST_CASE("a shuffle whose lanes never all arrive is reported as a deadlock with the missing lanes") {
  const std::string reason = failure_of_kernel(R"(
    if (threadIdx.x < 16) {
      out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
    } else {
      asm volatile("bar.sync 3, 64;");
    })");
  CHECK(contains(reason, "deadlock"));
  CHECK(contains(reason, "shfl.sync.bfly.b32 (line 4)"));
  CHECK(contains(reason, "for lanes 0xffff0000"));
  CHECK(contains(reason, "at barrier 3, where 16 of 64 threads have arrived"));
}

TEST_CASE("lanes of one mask meet across the shuffles of both arms") {
  const auto out = run(R"(
    const int t = threadIdx.x;
    int value = t;
    if (t < 16) {
      value = __shfl_xor_sync(0xffffffffu, value, 16) * 3;
    } else {
      value = __shfl_xor_sync(0xffffffffu, value + 7, 17) ^ 5;
    }
    out[t] = value;)",
                       32);
  for (U32 t = 0; t < 16; ++t) CHECK(out[t] == (t + 16 + 7) * 3);
  for (U32 t = 16; t < 32; ++t) CHECK(out[t] == ((t ^ 17) ^ 5));
}

TEST_CASE("lanes of one mask meet across votes, reductions and matches of both arms") {
  const auto out = run(R"(
    const int t = threadIdx.x;
    unsigned votes, sum, same;
    unsigned long long wide = t % 8;
    int whole;
    if (t & 1) {
      votes = __ballot_sync(~0u, t > 10);
      sum = __reduce_add_sync(~0u, t * 2) + 1;
      same = __match_any_sync(~0u, wide);
      __match_all_sync(~0u, 7, &whole);
    } else {
      votes = __ballot_sync(~0u, t > 20) + 0;
      sum = __reduce_add_sync(~0u, t + 1) + 2;
      same = __match_any_sync(~0u, wide + 1) ^ 1;
      __match_all_sync(~0u, 7 + (out == nullptr), &whole);
    }
    out[t] = votes; out[32 + t] = sum; out[64 + t] = same; out[96 + t] = whole;)",
                       128);
  U32 votes = 0, sum = 0;
  for (U32 t = 0; t < 32; ++t) {
    const bool odd = (t & 1) != 0;
    votes |= static_cast<U32>(t > (odd ? 10u : 20u)) << t;
    sum += odd ? t * 2 : t + 1;
  }
  for (U32 t = 0; t < 32; ++t) {
    const bool odd = (t & 1) != 0;
    CHECK(out[t] == votes);
    CHECK(out[32 + t] == sum + (odd ? 1 : 2));
    U32 same = 0;
    const auto value = [](U32 lane) { return (lane & 1) != 0 ? lane % 8 : lane % 8 + 1; };
    for (U32 other = 0; other < 32; ++other) same |= static_cast<U32>(value(other) == value(t)) << other;
    CHECK(out[64 + t] == (odd ? same : same ^ 1));
    CHECK(out[96 + t] == 1);
  }
}

TEST_CASE("lanes that wait for each other in shuffles of different modes are reported as a deadlock with both") {
  const std::string reason = failure_of_kernel(R"(
    int value = threadIdx.x;
    if (threadIdx.x < 16) {
      value = __shfl_xor_sync(0xffffffffu, value, 1) * 3;
    } else {
      value = __shfl_up_sync(0xffffffffu, value + 7, 2) ^ 5;
    }
    out[threadIdx.x] = value;)");
  CHECK(contains(reason, "crashed: "));
  CHECK(contains(reason, "deadlock"));
  CHECK(contains(reason, "lanes 0x0000ffff wait in shfl.sync.bfly.b32 (line 5) for lanes 0xffff0000"));
  CHECK(contains(reason, "lanes 0xffff0000 wait in shfl.sync.up.b32 (line 7) for lanes 0x0000ffff"));
}

TEST_CASE("a lane outside its own member mask is reported") {
  CHECK(contains(failure_of_kernel("out[threadIdx.x] = __shfl_sync(0xff, threadIdx.x, 0);"),
                 "is not in its member mask"));
}

TEST_CASE("barriers separate phases for whole blocks, parts of blocks and partial warps") {
  const auto out = run(R"(
    __shared__ int s[96];
    const int t = threadIdx.x;
    for (int phase = 0; phase < 5; ++phase) {
      s[t] = t + phase;
      __syncthreads();
      out[t] = s[(t + 31) % blockDim.x];
      __syncthreads();
    }
    if (t < 64) {
      s[t] = 1000 + t;
      asm volatile("bar.sync 2, 64;" ::: "memory");
      out[t] += s[63 - t];
    }
  )",
                       80, 80);
  for (U32 t = 0; t < 80; ++t) CHECK(out[t] == (t + 31) % 80 + 4 + (t < 64 ? 1063 - t : 0));
}

TEST_CASE("a producer arrives without waiting, barriers reduce predicates") {
  const auto out = run(R"(
    __shared__ int s[32];
    const int t = threadIdx.x;
    if (t < 32) { s[t] = t * 4; asm volatile("bar.arrive 1, 64;" ::: "memory"); out[t] = 1; }
    else { asm volatile("bar.sync 1, 64;" ::: "memory"); out[t] = s[t - 32]; }
    out[64 + t] = __syncthreads_count(t % 5 == 0) * 4 + __syncthreads_and(t < 64) * 2 + __syncthreads_or(t == 99);
  )",
                       128, 64);
  for (U32 t = 0; t < 64; ++t) {
    CHECK(out[t] == (t < 32 ? 1 : (t - 32) * 4));
    CHECK(out[64 + t] == 13 * 4 + 2);
  }
}

TEST_CASE("missing lanes of the last warp do not change the result of a reducing barrier with a count") {
  const auto out = run(R"(
    const int t = threadIdx.x;
    int all, none, any, count;
    asm volatile("{ .reg .pred p, q; setp.ge.s32 q, %1, 0; barrier.cta.red.and.pred p, 1, 64, q; selp.s32 %0, 1, 0, p; }" : "=r"(all) : "r"(t));
    asm volatile("{ .reg .pred p, q; setp.ge.s32 q, %1, 1; barrier.cta.red.and.pred p, 1, 64, q; selp.s32 %0, 1, 0, p; }" : "=r"(none) : "r"(t));
    asm volatile("{ .reg .pred p, q; setp.lt.s32 q, %1, 0; barrier.cta.red.or.pred p, 1, 64, q; selp.s32 %0, 1, 0, p; }" : "=r"(any) : "r"(t));
    asm volatile("{ .reg .pred q; setp.ge.s32 q, %1, 0; barrier.cta.red.popc.u32 %0, 1, 64, q; }" : "=r"(count) : "r"(t));
    out[t] = count * 1000 + any * 100 + none * 10 + all;
  )",
                       50, 50);
  for (const U32 seen : out) CHECK(seen == 50'001);
}

TEST_CASE("threads that have returned do not hold up a barrier of the whole block") {
  const auto out =
      run("if (threadIdx.x >= 40) return;\n__syncthreads();\nout[threadIdx.x] = 9;\n__syncthreads();", 64, 64);
  for (U32 t = 0; t < 64; ++t) CHECK(out[t] == (t < 40 ? 9 : 0xdeadbeef));
}

TEST_CASE("a barrier that some warps never reach is reported as a deadlock with the waiting warps") {
  const std::string reason = failure_of_kernel(
      "if (threadIdx.x < 32) asm volatile(\"bar.sync 5, 64;\");\nelse { while (*(volatile unsigned*)out == "
      "0) {} }",
      64);
  CHECK(contains(reason, "deadlock: no warp can advance"));
  CHECK(contains(reason, "warp 1 lanes 0xffffffff poll memory in"));
  const std::string dead = failure_of_kernel(
      "if (threadIdx.x < 32)\n  asm volatile(\"bar.sync 5, 96;\");\nelse\n  asm volatile(\"bar.sync 6, "
      "64;\");",
      64);
  CHECK(contains(dead, "deadlock: no warp can advance"));
  CHECK(contains(
      dead, "warp 0 lanes 0xffffffff wait in bar.sync (line 3) at barrier 5, where 32 of 96 threads have arrived"));
  CHECK(contains(dead, "warp 1"));
}

TEST_CASE("an endless loop exceeds the instruction budget") {
  const std::string reason = failure_of_kernel("volatile int x = 1;\nwhile (x) x = 2;\nout[0] = x;");
  CHECK(contains(reason, "timed out: kernel k: warp 0 of block (0, 0, 0) has not ended after"));
  CHECK(contains(reason, "instructions; it runs in line"));
}

TEST_CASE("invalid barriers fail the kernel") {
  CHECK(contains(failure_of_kernel("asm volatile(\"bar.sync %0, 32;\" :: \"r\"(n));", 32, 16),
                 "barrier 16 does not exist"));
  CHECK(contains(failure_of_kernel("asm volatile(\"bar.sync 1, %0;\" :: \"r\"(n));", 32, 40), "no multiple of 32"));
}

TEST_CASE("special registers describe thread, block and lane") {
  TestGpu gpu;
  gpu.load_cuda(R"(extern "C" __global__ void k(unsigned* out) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned lane, warp, below, smem; long long begin = clock64();
    asm("mov.u32 %0, %%laneid;" : "=r"(lane)); asm("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below)); asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(smem));
    out[block * 48 + t] = lane + warp * 100 + __popc(below) * 10000 + smem * 1000000 + (clock64() > begin ? 0 : 1u << 31);
  })");
  const auto out_at = gpu.upload("out", std::vector<U32>(48 * 24, 0));
  const auto failure = gpu.launch("k", {{2, 3, 4}, {4, 3, 4}, 7}, out_at);
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<U32>(out_at, 48 * 24);
  for (U32 i = 0; i < 48 * 24; ++i) CHECK(out[i] == i % 48 % 32 + i % 48 / 32 * 100 + i % 48 % 32 * 10000 + 7000000);
}

#include <cmath>
#include <random>

#include "evaluator/numbers/float_formats.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

std::vector<std::uint16_t> random_halves(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> value(-8, 8);
  std::vector<std::uint16_t> result(count);
  for (auto& half : result) half = f16_from_f32(static_cast<float>(value(random)) * 0.25f);
  return result;
}

/// Runs a kernel body of one warp with four 8 by 8 matrices `s` in shared memory, and returns `words` words of out.
std::vector<std::uint32_t> run_with_matrices(const std::string& body, std::size_t words) {
  TestGpu gpu;
  gpu.load_cuda(R"(
    extern "C" __global__ void k(unsigned* out) {
      __shared__ __align__(16) unsigned short s[32 * 8];
      const int t = threadIdx.x;
)" + body + "}");
  const auto out = gpu.allocate("out", words * 4);
  const auto failure = gpu.launch("k", {}, out);
  if (failure) FAIL(failure->reason);
  return gpu.download<std::uint32_t>(out, words);
}

}  // namespace

TEST_CASE("ldmatrix gives each lane its elements, plain and transposed, for one, two and four matrices") {
  const auto out = run_with_matrices(R"(
      for (int i = t; i < 256; i += 32) s[i] = i * 3;
      __syncwarp();
      const unsigned at = (unsigned)__cvta_generic_to_shared(s) + ((t * 5) % 32) * 16;
      unsigned r[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
      for (int i = 0; i < 4; ++i) out[i * 32 + t] = r[i];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
      for (int i = 0; i < 4; ++i) out[128 + i * 32 + t] = r[i];
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(t < 16 ? at : 0u));
      out[256 + t] = r[0]; out[288 + t] = r[1];
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
      out[320 + t] = r[0];
  )",
                                     352);
  const auto element = [](std::uint32_t matrix, std::uint32_t row, std::uint32_t column) {
    return ((matrix * 8 + row) * 5 % 32 * 8 + column) * 3;
  };
  for (std::uint32_t t = 0; t < 32; ++t) {
    for (std::uint32_t m = 0; m < 4; ++m) {
      const std::uint32_t plain = element(m, t / 4, t % 4 * 2) | element(m, t / 4, t % 4 * 2 + 1) << 16;
      const std::uint32_t transposed = element(m, t % 4 * 2, t / 4) | element(m, t % 4 * 2 + 1, t / 4) << 16;
      CHECK(out[m * 32 + t] == plain);
      CHECK(out[128 + m * 32 + t] == transposed);
      if (m < 2) CHECK(out[256 + m * 32 + t] == plain);
      if (m == 0) CHECK(out[320 + t] == transposed);
    }
  }
}

TEST_CASE("stmatrix writes what ldmatrix reads") {
  const auto out = run_with_matrices(R"(
      const unsigned at = (unsigned)__cvta_generic_to_shared(s) + t * 16;
      unsigned r[4];
      for (int i = 0; i < 4; ++i) r[i] = t * 8 + i + ((t * 8 + i + 1000) << 16);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
      __syncwarp();
      unsigned q[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(q[0]), "=r"(q[1]), "=r"(q[2]), "=r"(q[3]) : "r"(at) : "memory");
      unsigned wrong = 0;
      for (int i = 0; i < 4; ++i) wrong |= q[i] ^ r[i];
      out[t] = wrong;
      out[32 + t] = s[t];
  )",
                                     64);
  for (std::uint32_t t = 0; t < 32; ++t) {
    CHECK(out[t] == 0);
    // Row r of the stored matrix 0 holds column r of the fragments: element (r, c) is lane 4c + r/2, half
    // r%2.
    const std::uint32_t row = t / 8, column = t % 8, lane = 4 * column + row / 2;
    CHECK(out[32 + t] == lane * 8 + (row % 2 != 0 ? 1000 : 0));
  }
}

TEST_CASE("a tiled f16 matrix product through cp.async, ldmatrix and mma.sync equals the host's") {
  // 32x32x64, values with few bits: every sum is exact, so the host's order does not matter.
  TestGpu gpu;
  gpu.load_cuda(R"(
    __device__ __forceinline__ void copy16(unsigned to, const void* from) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
    }
    extern "C" __global__ void gemm(float* c, const unsigned short* a, const unsigned short* b) {
      constexpr int K = 64, step = 16, stages = 2;
      __shared__ __align__(128) unsigned short as[stages][32][step], bs[stages][32][step];
      const int t = threadIdx.x, warp = t / 32, lane = t % 32;
      float acc[4][4] = {};
      auto load = [&](int tile) {
        const int row = t / 2 % 32, part = t % 2 * 8;
        const unsigned short* from = (t < 64 ? a : b) + row * K + tile * step + part;
        copy16((unsigned)__cvta_generic_to_shared(t < 64 ? &as[tile % stages][row][part] : &bs[tile % stages][row][part]), from);
        asm volatile("cp.async.commit_group;" ::: "memory");
      };
      load(0);
      for (int tile = 0; tile < K / step; ++tile) {
        if (tile + 1 < K / step) load(tile + 1); else asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (warp < 2) {
          unsigned ra[4], rb[4][2];
          const unsigned ap = (unsigned)__cvta_generic_to_shared(&as[tile % stages][warp * 16 + lane % 16][lane / 16 * 8]);
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(ap));
          for (int n = 0; n < 4; ++n) {
            const unsigned bp = (unsigned)__cvta_generic_to_shared(&bs[tile % stages][n * 8 + lane % 8][lane / 8 % 2 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(rb[n][0]), "=r"(rb[n][1]) : "r"(bp));
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
              : "+f"(acc[n][0]), "+f"(acc[n][1]), "+f"(acc[n][2]), "+f"(acc[n][3])
              : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[n][0]), "r"(rb[n][1]));
          }
        }
        __syncthreads();
      }
      if (warp < 2) for (int n = 0; n < 4; ++n) for (int e = 0; e < 4; ++e)
        c[(warp * 16 + lane / 4 + e / 2 * 8) * 32 + n * 8 + lane % 4 * 2 + e % 2] = acc[n][e];
    })");
  const auto a = random_halves(32 * 64, 1), b = random_halves(32 * 64, 2);
  const auto a_at = gpu.upload("a", a), b_at = gpu.upload("b", b);
  const auto c_at = gpu.allocate("c", 32 * 32 * 4);
  const auto failure = gpu.launch("gemm", {{1, 1, 1}, {128, 1, 1}}, c_at, a_at, b_at);
  if (failure) FAIL(failure->reason);
  const auto c = gpu.download<float>(c_at, 32 * 32);
  for (std::size_t m = 0; m < 32; ++m) {
    for (std::size_t n = 0; n < 32; ++n) {
      float expected = 0;
      for (std::size_t k = 0; k < 64; ++k) expected += f32_from_f16(a[m * 64 + k]) * f32_from_f16(b[n * 64 + k]);
      CHECK(c[m * 32 + n] == expected);
    }
  }
}

TEST_CASE("e4m3 and s8 products run with the fragments of PTX") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    extern "C" __global__ void k(float* c, int* ci, const unsigned char* a, const unsigned char* b) {
      const int lane = threadIdx.x, row = lane / 4, col = lane % 4 * 4;
      const unsigned ra[4] = {*(const unsigned*)(a + row * 32 + col), *(const unsigned*)(a + (row + 8) * 32 + col),
                              *(const unsigned*)(a + row * 32 + 16 + col), *(const unsigned*)(a + (row + 8) * 32 + 16 + col)};
      const unsigned rb[2] = {*(const unsigned*)(b + row * 32 + col), *(const unsigned*)(b + row * 32 + 16 + col)};
      float d[4] = {1, 2, 3, 4};
      int di[4] = {1, 2, 3, 4};
      asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(di[0]), "+r"(di[1]), "+r"(di[2]), "+r"(di[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
      for (int e = 0; e < 4; ++e) {
        const int at = (row + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2;
        c[at] = d[e];
        ci[at] = di[e];
      }
    })");
  std::mt19937 random(3);
  std::vector<std::uint8_t> a(16 * 32), b(8 * 32);
  for (auto& code : a) code = static_cast<std::uint8_t>((random() % 2) << 7 | (6 + random() % 3) << 3 | random() % 8);
  for (auto& code : b) code = static_cast<std::uint8_t>((random() % 2) << 7 | (6 + random() % 3) << 3 | random() % 8);
  const auto a_at = gpu.upload("a", a), b_at = gpu.upload("b", b);
  const auto c_at = gpu.allocate("c", 512), ci_at = gpu.allocate("ci", 512);
  const auto failure = gpu.launch("k", {}, c_at, ci_at, a_at, b_at);
  if (failure) FAIL(failure->reason);
  const auto c = gpu.download<float>(c_at, 128);
  const auto ci = gpu.download<int>(ci_at, 128);
  for (std::size_t m = 0; m < 16; ++m) {
    for (std::size_t n = 0; n < 8; ++n) {
      // Accumulators start with 1 to 4, by their place in the fragment.
      const int start = 1 + static_cast<int>(n % 2) + (m >= 8 ? 2 : 0);
      double expected = start;
      int integer = start;
      for (std::size_t k = 0; k < 32; ++k) {
        expected += static_cast<double>(f32_from_e4m3(a[m * 32 + k])) * f32_from_e4m3(b[n * 32 + k]);
        integer += static_cast<std::int8_t>(a[m * 32 + k]) * b[n * 32 + k];
      }
      CHECK(std::fabs(c[m * 8 + n] - expected) < 0.02);
      CHECK(ci[m * 8 + n] == integer);
    }
  }
}

TEST_CASE("cp.async data arrive only with the wait and are zero beyond the source size") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    extern "C" __global__ void k(unsigned* out, const unsigned* in, int n) {
      __shared__ __align__(16) unsigned s[3][128];
      const int t = threadIdx.x;
      const unsigned at = (unsigned)__cvta_generic_to_shared(&s[0][t * 4]);
      for (int g = 0; g < 3; ++g) for (int i = 0; i < 4; ++i) s[g][t * 4 + i] = 77;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(in + t * 4) : "memory");
      asm volatile("cp.async.commit_group;" ::: "memory");
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(at + 512), "l"(in + t * 4), "r"(t == 31 ? n : 8) : "memory");
      asm volatile("cp.async.commit_group;" ::: "memory");
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(at + 1024), "l"(t < 30 ? in + t : in + 100000), "r"(t < 30 ? 4 : 0) : "memory");
      asm volatile("cp.async.commit_group;" ::: "memory");
      unsigned seen[4];
      seen[0] = ((volatile unsigned*)s[0])[t * 4];
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      seen[1] = ((volatile unsigned*)s[0])[t * 4] * 1000 + ((volatile unsigned*)s[1])[t * 4];
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      seen[2] = ((volatile unsigned*)s[1])[t * 4 + 1];
      asm volatile("cp.async.wait_all;" ::: "memory");
      seen[3] = ((volatile unsigned*)s[2])[t * 4];
      for (int i = 0; i < 4; ++i) out[i * 32 + t] = seen[i];
    })");
  std::vector<std::uint32_t> in(128);
  for (std::uint32_t i = 0; i < 128; ++i) in[i] = i + 1;
  const auto in_at = gpu.upload("in", in);
  const auto out_at = gpu.allocate("out", 512);
  const auto failure = gpu.launch("k", {}, out_at, in_at, 4);
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<std::uint32_t>(out_at, 128);
  for (std::uint32_t t = 0; t < 32; ++t) {
    CHECK(out[t] == 77);
    CHECK(out[32 + t] == (t * 4 + 1) * 1000 + 77);
    CHECK(out[64 + t] == (t == 31 ? 0 : t * 4 + 2));
    CHECK(out[96 + t] == (t < 30 ? t + 1 : 0));
  }
}

TEST_CASE("matrix instructions executed by part of a warp are findings") {
  const auto reason_of = [](const std::string& body, std::uint32_t block) {
    TestGpu gpu;
    gpu.load_cuda(
        "extern \"C\" __global__ void k(unsigned* out) {\n __shared__ __align__(16) unsigned short s[256];\n "
        "const unsigned at = (unsigned)__cvta_generic_to_shared(s);\n unsigned r;\n" +
        body + "\n out[threadIdx.x] = r;\n}");
    const auto failure = gpu.launch("k", {{1, 1, 1}, {block, 1, 1}}, gpu.allocate("out", 256));
    return failure ? failure->reason : std::string();
  };
  const std::string load =
      "asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : \"=r\"(r) : \"r\"(at));";
  CHECK(reason_of(load, 32).empty());
  CHECK(contains(reason_of(load, 24), "not all 32 lanes"));
  CHECK(contains(reason_of("if (threadIdx.x > 3) return;\n" + load, 32), "not all 32 lanes"));
  CHECK(contains(reason_of("if (threadIdx.x > 3) { " + load + " } else { r = 0; }", 32), "not all 32 lanes"));
  CHECK(contains(reason_of("asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : "
                           "\"=r\"(r) : \"r\"(at + threadIdx.x * 100));",
                           32),
                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16: reads 16 bytes"));
}

#include "evaluator/numbers/float_formats.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

/// The failure of `__global__ void k(unsigned char* p, int n)` on a buffer 'bytes' of 100 bytes, one warp.
std::string failure_of_kernel(const std::string& body, int n = 0, std::uint32_t smem = 0) {
  TestGpu gpu;
  gpu.load_cuda("extern \"C\" __global__ void k(unsigned char* p, int n) {\n" + body + "\n}");
  const auto bytes = gpu.upload("bytes", std::vector<std::uint8_t>(100, 1));
  gpu.upload("other", std::vector<std::uint8_t>(64, 2));
  const auto failure = gpu.launch("k", {{2, 1, 1}, {32, 1, 1}, smem}, bytes, n);
  return failure ? failure->reason : "";
}

}  // namespace

TEST_CASE("loads and stores of every width and vector move the right bytes") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    extern "C" __global__ void k(unsigned char* out, const unsigned char* in) {
      const int i = threadIdx.x;
      ((signed char*)out)[i] = ((const signed char*)in)[i];
      ((unsigned short*)(out + 64))[i] = ((const unsigned short*)(in + 64))[i] + 1;
      ((float*)(out + 256))[i] = ((const float*)(in + 256))[i];
      ((unsigned long long*)(out + 512))[i] = ((const unsigned long long*)(in + 512))[i] * 3;
      ((ushort4*)(out + 1024))[i] = ((const ushort4*)(in + 1024))[i];
      ((float2*)(out + 2048))[i] = ((const float2*)(in + 2048))[i];
      ((int4*)(out + 4096))[31 - i] = ((const int4*)(in + 4096))[i];
      ((double2*)(out + 8192))[i] = ((const double2*)(in + 8192))[i];
      if (i % 3 == 0) ((int*)(out + 16384))[i] = ((const signed char*)in)[i];
    })");
  std::vector<std::uint8_t> in(20000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  const auto in_at = gpu.upload("in", in);
  const auto out_at = gpu.upload("out", std::vector<std::uint8_t>(20000, 0));
  const auto failure = gpu.launch("k", {}, out_at, in_at);
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<std::uint8_t>(out_at, 20000);
  const auto word = [](const std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t b = 0; b < width; ++b) value |= std::uint64_t{bytes[at + b]} << 8 * b;
    return value;
  };
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(out[i] == in[i]);
    CHECK(word(out, 64 + 2 * i, 2) == ((word(in, 64 + 2 * i, 2) + 1) & 0xffff));
    CHECK(word(out, 256 + 4 * i, 4) == word(in, 256 + 4 * i, 4));
    CHECK(word(out, 512 + 8 * i, 8) == word(in, 512 + 8 * i, 8) * 3);
    for (std::size_t b = 0; b < 8; ++b) CHECK(out[1024 + 8 * i + b] == in[1024 + 8 * i + b]);
    for (std::size_t b = 0; b < 8; ++b) CHECK(out[2048 + 8 * i + b] == in[2048 + 8 * i + b]);
    for (std::size_t b = 0; b < 16; ++b) CHECK(out[4096 + 16 * (31 - i) + b] == in[4096 + 16 * i + b]);
    for (std::size_t b = 0; b < 16; ++b) CHECK(out[8192 + 16 * i + b] == in[8192 + 16 * i + b]);
    CHECK(static_cast<std::int32_t>(word(out, 16384 + 4 * i, 4)) == (i % 3 == 0 ? static_cast<std::int8_t>(in[i]) : 0));
  }
}

TEST_CASE("generic pointers reach shared, local, constant, parameter and global memory") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    struct Big { int v[20]; };
    __constant__ int table[4] = {10, 20, 30, 40};
    __device__ int counters[3] = {1, 2, 3};
    __device__ int* alias = &counters[1];
    __device__ __noinline__ int read(const int* p, int at) { return p[at]; }
    extern "C" __global__ void k(int* out, Big big, int n) {
      __shared__ int s[32];
      int local[32];
      const int i = threadIdx.x;
      s[i] = i * 100;
      for (int j = 0; j < 32; ++j) local[j] = j * i;
      __syncthreads();
      const int* p = i % 5 == 0 ? s : i % 5 == 1 ? local : i % 5 == 2 ? (const int*)counters : i % 5 == 3 ? big.v : out + 64;
      const int at = i % 5 == 2 ? i % 3 : i % 5 == 3 ? i % 20 : i % 32;
      out[i] = p[at] + read(local, 3) * 1000 + table[i & 3];
      out[32 + i] = __isShared(s) * 1 + __isGlobal(out) * 2 + __isLocal(local) * 4 + __isShared(out) * 8 + *alias * 16;
    })");
  std::vector<int> big(20);
  for (int i = 0; i < 20; ++i) big[static_cast<std::size_t>(i)] = 500 + i;
  struct Big {
    int v[20];
  } argument;
  std::copy(big.begin(), big.end(), argument.v);
  std::vector<int> initial(96, 0);
  for (std::size_t i = 64; i < 96; ++i) initial[i] = static_cast<int>(i) * 3;
  const auto out_at = gpu.upload("out", initial);
  const auto failure = gpu.launch("k", {}, out_at, argument, 0);
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<int>(out_at, 64);
  for (int i = 0; i < 32; ++i) {
    const int values[5] = {i * 100, i * i, i % 3 + 1, 500 + i % 20, (64 + i) * 3};
    CHECK(out[static_cast<std::size_t>(i)] == values[i % 5] + 3 * i * 1000 + (i % 4 + 1) * 10);
    CHECK(out[static_cast<std::size_t>(32 + i)] == 1 + 2 + 4 + 2 * 16);
  }
}

TEST_CASE(
    "static and dynamic shared memory do not overlap, zero-initialised variables are zero, each block starts afresh") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    __device__ int sums[2];
    extern __shared__ int dynamic[];
    extern "C" __global__ void k(int* out, int n) {
      __shared__ int fixed[33];
      fixed[threadIdx.x] = threadIdx.x + blockIdx.x * 50;
      dynamic[n - 1 - threadIdx.x] = threadIdx.x * 2;
      __syncthreads();
      atomicAdd(&sums[blockIdx.x], fixed[31 - threadIdx.x] + dynamic[threadIdx.x]);
      __syncthreads();
      out[blockIdx.x] = sums[blockIdx.x];
    })");
  const auto out_at = gpu.upload("out", std::vector<int>(2, 0));
  const auto failure = gpu.launch("k", {{2, 1, 1}, {32, 1, 1}, 128}, out_at, 32);
  if (failure) FAIL(failure->reason);
  CHECK(gpu.download<int>(out_at, 2) == std::vector<int>{496 + 992, 496 + 1600 + 992});
}

TEST_CASE("an access out of bounds names kernel, line, thread, address and nearest buffer") {
  const std::string beyond =
      failure_of_kernel("const int i = blockIdx.x * 32 + threadIdx.x;\nif (i < n) {\n  p[i + 60] = 3;\n}", 64);
  CHECK(contains(beyond, "kernel k, line 4, block (1, 0, 0), thread (8, 0, 0)"));
  CHECK(contains(beyond, "st.global.u8: writes 1 byte at 0x7f"));
  CHECK(contains(beyond, "0 bytes behind the end of 'bytes'"));
  CHECK(contains(failure_of_kernel("p[0] = p[-1 - (int)threadIdx.x];"), "1 bytes before 'bytes'"));
  CHECK(contains(failure_of_kernel("((int4*)p)[n] = make_int4(1, 2, 3, 4);", 6), "writes 16 bytes at 0x"));
  CHECK(contains(failure_of_kernel("*(int*)(long long)(n * 16) = 3;", 2), "writes 4 bytes"));
  CHECK(failure_of_kernel("p[99] = 1;").empty());
}

TEST_CASE("misaligned accesses and writes to constant memory are reported") {
  CHECK(contains(failure_of_kernel("p[0] = *(short*)(p + 2 * threadIdx.x + n);", 1), "misaligned"));
  CHECK(contains(failure_of_kernel("*(float4*)(p + 8) = make_float4(1, 2, 3, n);"), "misaligned"));
  TestGpu gpu;
  gpu.load_cuda(
      "__constant__ int c[2] = {1, 2};\nextern \"C\" __global__ void k(int n) {\n asm volatile(\"st.u32 "
      "[%0], %1;\" :: \"l\"((int*)c), \"r\"(n) : \"memory\");\n}");
  const auto failure = gpu.launch("k", {}, 1);
  REQUIRE(failure);
  INFO(failure->reason);
  CHECK(contains(failure->reason, "constant memory"));
}

TEST_CASE("shared and local memory have bounds too") {
  CHECK(contains(failure_of_kernel("__shared__ int s[16];\ns[threadIdx.x + n] = 1;\n__syncthreads();\np[0] = s[0];", 0),
                 "of shared memory, which has 64 bytes"));
  CHECK(contains(
      failure_of_kernel("extern __shared__ int d[];\nd[threadIdx.x] = n;\n__syncthreads();\np[0] = d[1];", 4, 100),
      "line 3"));
  CHECK(contains(
      failure_of_kernel("extern __shared__ int d[];\nd[threadIdx.x] = n;\n__syncthreads();\np[0] = d[1];", 4, 100),
      "thread (25, 0, 0)"));
  CHECK(contains(
      failure_of_kernel("int a[8];\nfor (int i = 0; i < n; ++i) a[i * 3 + threadIdx.x] = i;\np[0] = a[p[1]];", 30),
      "local memory"));
}

TEST_CASE("atomics update global and shared memory in every type") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    extern "C" __global__ void k(int* i, float* f, double* d, unsigned long long* u, unsigned* h) {
      __shared__ int s;
      __shared__ float sf;
      const int t = threadIdx.x;
      if (t == 0) { s = 0; sf = 0; }
      __syncthreads();
      atomicAdd(i, t); atomicSub(i + 1, t); atomicMax(i + 2, t * 7 % 50); atomicMin(i + 3, -t); atomicAnd(i + 4, ~(1 << (t & 7)));
      atomicOr(i + 5, 1 << t % 20); atomicXor(i + 6, t); atomicInc((unsigned*)i + 7, 20); atomicDec((unsigned*)i + 8, 9);
      i[16 + t] = atomicExch(i + 9, t);
      atomicCAS(i + 10, t, t + 1);
      atomicAdd(f, 0.5f * t); atomicAdd(d, 0.25 * t); atomicAdd(u, 1ull << 40); atomicMax((long long*)u + 1, (long long)t - 100);
      atomicAdd(&s, t); atomicAdd(&sf, 1.5f);
      asm volatile("red.global.add.noftz.f16x2 [%0], %1;" :: "l"(h), "r"(0x40003c00u) : "memory");
      __syncthreads();
      if (t == 0) { i[11] = s; f[1] = sf; }
    })");
  std::vector<int> start(16 + 64, 0);
  start[4] = 0xfff;
  start[8] = 3;
  start[10] = 5;
  const auto i = gpu.upload("i", start);
  const auto f = gpu.upload("f", std::vector<float>(2, 1.0f));
  const auto d = gpu.upload("d", std::vector<double>(1, 0.0));
  const auto u = gpu.upload("u", std::vector<std::uint64_t>{0, static_cast<std::uint64_t>(-1000)});
  const auto h = gpu.upload("h", std::vector<std::uint32_t>(1, 0));
  const auto failure = gpu.launch("k", {}, i, f, d, u, h);
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<int>(i, 80);
  CHECK(out[0] == 496);
  CHECK(out[1] == -496);
  CHECK(out[2] == 49);
  CHECK(out[3] == -31);
  CHECK(out[4] == 0xf00);
  CHECK(out[5] == 0xfffff);
  CHECK(out[6] == 0);
  CHECK(out[7] == 32 % 21);
  int decremented = 3;
  for (int t = 0; t < 32; ++t) decremented = decremented == 0 || decremented > 9 ? 9 : decremented - 1;
  CHECK(out[8] == decremented);
  CHECK(out[9] == 31);
  CHECK(out[16] == 0);
  CHECK(out[17] == 0);
  CHECK(out[18] == 1);
  CHECK(out[10] == 32);
  CHECK(out[11] == 496);
  CHECK(gpu.download<float>(f, 2) == std::vector<float>{249.0f, 48.0f});
  CHECK(gpu.download<double>(d, 1)[0] == 124.0);
  CHECK(gpu.download<std::uint64_t>(u, 2) == std::vector<std::uint64_t>{32ull << 40, static_cast<std::uint64_t>(-69)});
  CHECK(gpu.download<std::uint32_t>(h, 1)[0] ==
        (static_cast<std::uint32_t>(f16_from_f32(64.0f)) << 16 | f16_from_f32(32.0f)));
}

TEST_CASE("printf writes what the kernel formats") {
  TestGpu gpu;
  gpu.load_cuda(R"(
    extern "C" __global__ void k(int n) {
      if (threadIdx.x == 3) printf("%d of %u: %.2f %s %c %llx %%\n", -n, 7u, n * 0.5, "words", 'x', 0x123456789abcull);
    })");
  const auto failure = gpu.launch("k", {}, 5);
  if (failure) FAIL(failure->reason);
  CHECK(gpu.printed() == "-5 of 7: 2.50 words x 123456789abc %\n");
}

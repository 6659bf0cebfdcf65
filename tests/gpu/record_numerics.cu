// Records what a GPU computes, bit for bit: tensor-core products, approximate functions and conversions.
// The virtual GPU's numerics are fitted to these records; small parts of them are its test fixtures.
//
//   nvcc -O2 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -o record_numerics record_numerics.cu
//   ./record_numerics OUTDIR
//
// Files, little-endian. Each is a sequence of sections:
//   char     name[56]    zero-padded, "mma.m16n8k32.e4m3.e4m3.f32"
//   uint32   words_in, words_out
//   uint64   records
//   uint32   data[records][words_in + words_out]
// A sweep_*.bin file is 2^23 or 2^24 nibbles (low nibble first): output bits minus the bits of the correctly rounded
// result, plus 8, for consecutive f32 inputs from 1.0; 0 stands for a difference beyond +-7.
//
// Records of mma.*: registers of A, B and C, each for 32 lanes (reg-major), then D of mma.sync, then D of a wgmma of
// the same type with A in registers, whose four warps hold the same A and C.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t error = (call);                                                            \
    if (error != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

using Words = std::vector<uint32_t>;

// ---- Random numbers (SplitMix64) and files.

struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  uint32_t bits() { return static_cast<uint32_t>(next()); }
};

class RecordFile {
 public:
  RecordFile(const std::string& folder, const char* name) {
    file_ = std::fopen((folder + "/" + name).c_str(), "wb");
    if (!file_) {
      std::fprintf(stderr, "cannot write %s/%s\n", folder.c_str(), name);
      std::exit(1);
    }
  }
  ~RecordFile() { std::fclose(file_); }
  void section(const char* name, uint32_t words_in, uint32_t words_out, const Words& in, const Words& out) {
    char title[56] = {};
    std::strncpy(title, name, sizeof title - 1);
    const uint64_t records = in.size() / words_in;
    write(title, sizeof title);
    write(&words_in, 4);
    write(&words_out, 4);
    write(&records, 8);
    for (uint64_t i = 0; i < records; ++i) {
      write(&in[i * words_in], words_in * 4);
      write(&out[i * words_out], words_out * 4);
    }
    std::printf("%-40s %8llu records\n", name, static_cast<unsigned long long>(records));
  }
  void write(const void* data, size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) std::exit(1);
  }

 private:
  FILE* file_;
};

/// Launches `kernel(in, out)` over the records and returns the outputs.
Words on_device(const Words& in, size_t words_out, const std::function<void(const uint32_t*, uint32_t*)>& launch) {
  uint32_t *device_in, *device_out;
  Words out(words_out);
  CHECK(cudaMalloc(&device_in, in.size() * 4));
  CHECK(cudaMalloc(&device_out, words_out * 4));
  CHECK(cudaMemcpy(device_in, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
  launch(device_in, device_out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), device_out, words_out * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_out));
  return out;
}

// ---- Tensor cores. One block of one warpgroup for each record.

/// Fragment registers of one record, as one lane sees them.
template <int NA, int NB, int NC>
struct Fragments {
  uint32_t a[NA], b[NB], c[NC], d[NC], w[NC];

  __device__ void load(const uint32_t* record) {
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < NA; ++i) a[i] = record[i * 32 + lane];
    for (int i = 0; i < NB; ++i) b[i] = record[(NA + i) * 32 + lane];
    for (int i = 0; i < NC; ++i) c[i] = w[i] = record[(NA + NB + i) * 32 + lane];
  }
  __device__ void store(uint32_t* result) const {
    if (threadIdx.x >= 32) return;
    for (int i = 0; i < NC; ++i) {
      result[i * 32 + threadIdx.x] = d[i];
      result[(NC + i) * 32 + threadIdx.x] = w[i];
    }
  }
  /// B in shared memory as wgmma wants it without swizzle: 8 columns by 16 bytes are one 128-byte core matrix, and a
  /// fragment's register is exactly one of them. The descriptor's leading offset is the step between two.
  __device__ uint64_t descriptor(uint32_t* shared) const {
    if (threadIdx.x < 32)
      for (int i = 0; i < NB; ++i) shared[i * 32 + threadIdx.x] = b[i];
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    const uint64_t address = __cvta_generic_to_shared(shared);
    return ((address & 0x3ffff) >> 4) | (uint64_t{128 >> 4} << 16) | (uint64_t{128 >> 4} << 32);
  }
};

#define WGMMA_BEGIN "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned."
#define WGMMA_END "; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"

// NA, NB, NC are the numbers of registers; WGMMA_TAIL the immediates after the scale of D.
#define MMA_4_2_4(NAME, MMA, WGMMA, WGMMA_TAIL)                                                                       \
  __global__ void NAME(const uint32_t* in, uint32_t* out) {                                                           \
    __shared__ alignas(128) uint32_t shared[64];                                                                      \
    Fragments<4, 2, 4> f;                                                                                             \
    f.load(in + blockIdx.x * 10 * 32);                                                                                \
    const uint64_t b = f.descriptor(shared);                                                                          \
    asm volatile("mma.sync.aligned." MMA " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"                    \
                 : "=r"(f.d[0]), "=r"(f.d[1]), "=r"(f.d[2]), "=r"(f.d[3])                                             \
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]), "r"(f.c[0]),         \
                   "r"(f.c[1]), "r"(f.c[2]), "r"(f.c[3]));                                                            \
    asm volatile(WGMMA_BEGIN WGMMA " {%0,%1,%2,%3},{%4,%5,%6,%7}, %8, p" WGMMA_TAIL WGMMA_END                         \
                 : "+r"(f.w[0]), "+r"(f.w[1]), "+r"(f.w[2]), "+r"(f.w[3])                                             \
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "l"(b)                                         \
                 : "memory");                                                                                         \
    f.store(out + blockIdx.x * 8 * 32);                                                                               \
  }
#define MMA_4_2_2(NAME, MMA, WGMMA, WGMMA_TAIL)                                                                       \
  __global__ void NAME(const uint32_t* in, uint32_t* out) {                                                           \
    __shared__ alignas(128) uint32_t shared[64];                                                                      \
    Fragments<4, 2, 2> f;                                                                                             \
    f.load(in + blockIdx.x * 8 * 32);                                                                                 \
    const uint64_t b = f.descriptor(shared);                                                                          \
    asm volatile("mma.sync.aligned." MMA " {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%9};"                                    \
                 : "=r"(f.d[0]), "=r"(f.d[1])                                                                         \
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]), "r"(f.c[0]),         \
                   "r"(f.c[1]));                                                                                      \
    asm volatile(WGMMA_BEGIN WGMMA " {%0,%1},{%2,%3,%4,%5}, %6, p" WGMMA_TAIL WGMMA_END                               \
                 : "+r"(f.w[0]), "+r"(f.w[1])                                                                         \
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "l"(b)                                         \
                 : "memory");                                                                                         \
    f.store(out + blockIdx.x * 4 * 32);                                                                               \
  }
// Half of the k of the forms above; wgmma has none of these, so its D repeats C.
#define MMA_2_1_4(NAME, MMA)                                                                                          \
  __global__ void NAME(const uint32_t* in, uint32_t* out) {                                                           \
    Fragments<2, 1, 4> f;                                                                                             \
    f.load(in + blockIdx.x * 7 * 32);                                                                                 \
    asm volatile("mma.sync.aligned." MMA " {%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10};"                                \
                 : "=r"(f.d[0]), "=r"(f.d[1]), "=r"(f.d[2]), "=r"(f.d[3])                                             \
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]), "r"(f.c[0]), "r"(f.c[1]), "r"(f.c[2]), "r"(f.c[3]));        \
    f.store(out + blockIdx.x * 8 * 32);                                                                               \
  }
#define MMA_2_1_2(NAME, MMA)                                                                                          \
  __global__ void NAME(const uint32_t* in, uint32_t* out) {                                                           \
    Fragments<2, 1, 2> f;                                                                                             \
    f.load(in + blockIdx.x * 5 * 32);                                                                                 \
    asm volatile("mma.sync.aligned." MMA " {%0,%1},{%2,%3},{%4},{%5,%6};"                                             \
                 : "=r"(f.d[0]), "=r"(f.d[1])                                                                         \
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]), "r"(f.c[0]), "r"(f.c[1]));                                  \
    f.store(out + blockIdx.x * 4 * 32);                                                                               \
  }

MMA_4_2_4(e4m3_f32, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "m64n8k32.f32.e4m3.e4m3", ", 1, 1")
MMA_4_2_4(e5m2_f32, "m16n8k32.row.col.f32.e5m2.e5m2.f32", "m64n8k32.f32.e5m2.e5m2", ", 1, 1")
MMA_4_2_4(mixed_f32, "m16n8k32.row.col.f32.e4m3.e5m2.f32", "m64n8k32.f32.e4m3.e5m2", ", 1, 1")
MMA_4_2_2(e4m3_f16, "m16n8k32.row.col.f16.e4m3.e4m3.f16", "m64n8k32.f16.e4m3.e4m3", ", 1, 1")
MMA_4_2_2(e5m2_f16, "m16n8k32.row.col.f16.e5m2.e5m2.f16", "m64n8k32.f16.e5m2.e5m2", ", 1, 1")
MMA_2_1_4(e4m3_k16_f32, "m16n8k16.row.col.f32.e4m3.e4m3.f32")
MMA_4_2_4(f16_f32, "m16n8k16.row.col.f32.f16.f16.f32", "m64n8k16.f32.f16.f16", ", 1, 1, 0")
MMA_4_2_2(f16_f16, "m16n8k16.row.col.f16.f16.f16.f16", "m64n8k16.f16.f16.f16", ", 1, 1, 0")
MMA_4_2_4(bf16_f32, "m16n8k16.row.col.f32.bf16.bf16.f32", "m64n8k16.f32.bf16.bf16", ", 1, 1, 0")
MMA_2_1_4(f16_k8_f32, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_2_1_2(f16_k8_f16, "m16n8k8.row.col.f16.f16.f16.f16")
MMA_2_1_4(bf16_k8_f32, "m16n8k8.row.col.f32.bf16.bf16.f32")
MMA_4_2_4(tf32_f32, "m16n8k8.row.col.f32.tf32.tf32.f32", "m64n8k8.f32.tf32.tf32", ", 1, 1")
MMA_2_1_4(tf32_k4_f32, "m16n8k4.row.col.f32.tf32.tf32.f32")
MMA_4_2_4(s8_s32, "m16n8k32.row.col.s32.s8.s8.s32", "m64n8k32.s32.s8.s8", "")
MMA_4_2_4(u8s8_sat, "m16n8k32.row.col.satfinite.s32.u8.s8.s32", "m64n8k32.s32.u8.s8.satfinite", "")

// ---- Inputs of the tensor cores.

/// An element type by its fields; integers have exponent_bits 0.
struct Format {
  int width, exponent_bits, fraction_bits;
  bool infinity;  ///< The top exponent holds infinity and NaN; e4m3 has numbers there, and NaN only as all ones.
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int low() const { return 1 - bias() - fraction_bits; }  ///< Exponent of the smallest subnormal.
  int high() const { return (1 << exponent_bits) - (infinity ? 2 : 1) - bias(); }
  uint32_t sign() const { return 1u << (exponent_bits + fraction_bits); }
  uint32_t largest() const {
    const uint32_t top = sign() - 1;
    return infinity ? top - (1u << fraction_bits) : top - 1;
  }
  /// +-(1.fraction) * 2^exponent; cut to a subnormal, zero or the largest number where it does not fit.
  uint32_t make(bool negative, int exponent, uint32_t fraction) const {
    uint32_t significand = (1u << fraction_bits) | (fraction & ((1u << fraction_bits) - 1));
    uint32_t bits;
    if (exponent > high()) {
      bits = largest();
    } else if (exponent < 1 - bias()) {
      const int shift = 1 - bias() - exponent;
      bits = shift > fraction_bits ? 0 : significand >> shift;
    } else {
      bits = (static_cast<uint32_t>(exponent + bias()) << fraction_bits) | (significand & ((1u << fraction_bits) - 1));
      if (bits > largest()) bits = largest();
    }
    bits |= negative ? sign() : 0;
    return width == 32 && fraction_bits == 10 ? bits << 13 : bits;
  }
  uint32_t special(Random& random) const {
    const uint32_t top = ((1u << exponent_bits) - 1) << fraction_bits;
    const uint32_t kinds[] = {infinity ? top : sign() - 1, sign() - 1, 0, largest(), 1,
                              infinity ? top | 1u << (fraction_bits - 1) : 0};
    const uint32_t bits = kinds[random.below(6)] | (random.below(2) ? sign() : 0);
    return width == 32 && fraction_bits == 10 ? bits << 13 : bits;
  }
};

const Format kE4m3{8, 4, 3, false}, kE5m2{8, 5, 2, true}, kF16{16, 5, 10, true}, kBf16{16, 8, 7, true},
    kTf32{32, 8, 10, true}, kF32{32, 8, 23, true}, kInt8{8, 0, 0, false};

struct Problem {
  int k;
  Format fa, fb, fc;
  uint32_t a[16][32], b[32][8], c[16][8];
};

/// Fills all three matrices with numbers whose exponents are drawn from the given ranges (C: infinite low = zeros).
void fill(Problem& p, Random& r, int a_low, int a_high, int b_low, int b_high, int c_low, int c_high) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < p.k; ++k) p.a[i][k] = p.fa.make(r.below(2), r.between(a_low, a_high), r.bits());
  for (int k = 0; k < p.k; ++k)
    for (int j = 0; j < 8; ++j) p.b[k][j] = p.fb.make(r.below(2), r.between(b_low, b_high), r.bits());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j)
      p.c[i][j] = c_low > c_high ? 0 : p.fc.make(r.below(2), r.between(c_low, c_high), r.bits());
}

constexpr int kModes = 14;

/// One way to probe: see each case. Exponents stay within what the formats hold.
void probe(Problem& p, Random& r, int mode) {
  const int al = p.fa.low() < -20 ? -20 : p.fa.low(), ah = p.fa.high() > 15 ? 15 : p.fa.high();
  const int bl = p.fb.low() < -20 ? -20 : p.fb.low(), bh = p.fb.high() > 15 ? 15 : p.fb.high();
  const int middle_a = (al + ah) / 2, middle_b = (bl + bh) / 2;
  const int k1 = r.below(p.k), k2 = (k1 + 1 + r.below(p.k - 1)) % p.k;
  const bool narrow_c = p.fc.width == 16;  // An f16 accumulator overflows easily: keep most sums in its range.
  const int top_a = narrow_c ? (ah < 6 ? ah : 6) : ah, top_b = narrow_c ? (bh < 6 ? bh : 6) : bh;
  switch (mode) {
    case 0:  // What kernels see: numbers near one.
      return fill(p, r, -3, 1, -3, 1, -4, 4);
    case 1:  // No accumulator.
      return fill(p, r, -3, 1, -3, 1, 1, 0);
    case 2:  // Wide spread of everything.
      return fill(p, r, al, top_a, bl, top_b, al + bl, top_a + top_b);
    case 3: {  // One big product among tiny ones: how far below the leading bit does the sum look?
      const int gap = r.below(36);
      fill(p, r, al, al + 3, bl, bl + 3, 1, 0);
      for (int i = 0; i < 16; ++i) p.a[i][k1] = p.fa.make(r.below(2), al + gap / 2 + r.below(3), 0);
      for (int j = 0; j < 8; ++j) p.b[k1][j] = p.fb.make(false, bl + gap - gap / 2, 0);
      return;
    }
    case 4:    // Two big products that cancel; what is left was aligned to them or not, by their blocks.
    case 5: {  // The same, with an accumulator of the small ones' size.
      fill(p, r, al, middle_a - 2, bl, middle_b - 2, mode == 4 ? 1 : al + bl, mode == 4 ? 0 : middle_a + middle_b);
      for (int i = 0; i < 16; ++i) {
        p.a[i][k1] = p.fa.make(false, r.between(middle_a, top_a), r.bits());
        p.a[i][k2] = p.a[i][k1] | (p.fa.width == 32 ? 0x80000000u : p.fa.sign());
      }
      for (int j = 0; j < 8; ++j) p.b[k1][j] = p.b[k2][j] = p.fb.make(false, r.between(middle_b, top_b), r.bits());
      return;
    }
    case 6: {  // A big accumulator above tiny products: does it set the alignment, is its tail kept?
      const int big = al + bl + 4 + r.below(30);
      return fill(p, r, al, al + 4, bl, bl + 4, big, big + 4);
    }
    case 7: {  // An accumulator that cancels one product exactly.
      fill(p, r, al, middle_a, bl, middle_b, 1, 0);
      const int ea = r.between(middle_a, top_a), eb = r.between(middle_b, top_b);
      for (int i = 0; i < 16; ++i) p.a[i][k1] = p.fa.make(false, ea, 0);
      for (int j = 0; j < 8; ++j) p.b[k1][j] = p.fb.make(false, eb, 0);
      for (auto& row : p.c)
        for (auto& c : row) c = p.fc.make(true, ea + eb, r.below(4) ? 0 : r.bits());
      return;
    }
    case 8:  // The smallest numbers: subnormals of every format.
      return fill(p, r, p.fa.low(), p.fa.low() + 4, p.fb.low(), p.fb.low() + 4, p.fc.low(), p.fc.low() + 30);
    case 9:  // The largest: sums that overflow.
      return fill(p, r, p.fa.high() - 3, p.fa.high(), p.fb.high() - 3, p.fb.high(), p.fc.high() - 3, p.fc.high());
    case 10:  // Infinities, NaNs and extremes strewn about.
      fill(p, r, -4, 4, -4, 4, -4, 4);
      for (int n = 0; n < 6; ++n) p.a[r.below(16)][r.below(p.k)] = p.fa.special(r);
      for (int n = 0; n < 3; ++n) p.b[r.below(p.k)][r.below(8)] = p.fb.special(r);
      for (int n = 0; n < 8; ++n) p.c[r.below(16)][r.below(8)] = p.fc.special(r);
      return;
    case 11:  // Few products: k1 and k2 only, far apart or near.
      fill(p, r, al, top_a, bl, top_b, al + bl, top_a + top_b);
      for (auto& row : p.a)
        for (int k = 0; k < p.k; ++k)
          if (k != k1 && k != k2) row[k] = 0;
      return;
    case 12:  // All bits of the operands, whatever they mean; a wide accumulator.
      for (auto& row : p.a)
        for (auto& a : row) a = p.fa.width == 32 ? r.bits() : r.bits() & ((1u << p.fa.width) - 1);
      for (auto& row : p.b)
        for (auto& b : row) b = p.fb.width == 32 ? r.bits() : r.bits() & ((1u << p.fb.width) - 1);
      for (auto& row : p.c)
        for (auto& c : row) c = p.fc.width == 32 ? r.bits() : r.bits() & 0xffff;
      return;
    default:  // Sums of one sign, so that the leading bit moves up: where is the cut, before or after?
      fill(p, r, -2, 2, -2, 2, -2, 6);
      for (auto& row : p.a)
        for (auto& a : row) a &= p.fa.width == 32 ? 0x7fffffffu : p.fa.sign() - 1;
      for (auto& row : p.b)
        for (auto& b : row) b &= p.fb.width == 32 ? 0x7fffffffu : p.fb.sign() - 1;
      for (auto& row : p.c)
        for (auto& c : row) c &= p.fc.width == 32 ? 0x7fffffffu : p.fc.sign() - 1;
  }
}

/// Appends the fragments of A, B and C as mma.sync m16n8 wants them (PTX ISA, 9.7.14.5).
void pack(const Problem& p, Words& out) {
  const int per = 32 / p.fa.width, registers = p.k / (4 * per);
  for (int reg = 0; reg < 2 * registers; ++reg)
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t word = 0;
      for (int e = 0; e < per; ++e)
        word |= p.a[lane / 4 + 8 * (reg % 2)][lane % 4 * per + e + 4 * per * (reg / 2)] << (e * p.fa.width % 32);
      out.push_back(word);
    }
  for (int reg = 0; reg < registers; ++reg)
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t word = 0;
      for (int e = 0; e < per; ++e) word |= p.b[lane % 4 * per + e + 4 * per * reg][lane / 4] << (e * p.fb.width % 32);
      out.push_back(word);
    }
  const int per_c = 32 / p.fc.width;
  for (int reg = 0; reg < 4 / per_c; ++reg)
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4 + 8 * (per_c == 2 ? reg : reg / 2), column = lane % 4 * 2;
      out.push_back(per_c == 2 ? p.c[row][column] | p.c[row][column + 1] << 16 : p.c[row][column + reg % 2]);
    }
}

using Kernel = void (*)(const uint32_t*, uint32_t*);

void record_mma(RecordFile& file, const char* name, Kernel kernel, int k, Format a, Format b, Format c, int records) {
  Random random{std::hash<std::string>()(name)};
  Words in;
  for (int i = 0; i < records; ++i) {
    Problem p{k, a, b, c, {}, {}, {}};
    probe(p, random, a.exponent_bits == 0 ? 12 : i % kModes);
    pack(p, in);
  }
  const uint32_t words_in = static_cast<uint32_t>(in.size() / records);
  const uint32_t words_out = c.width == 16 ? 128 : 256;
  const Words out = on_device(in, size_t{words_out} * records,
                              [&](const uint32_t* x, uint32_t* y) { kernel<<<records, 128>>>(x, y); });
  file.section(name, words_in, words_out, in, out);
}

/// f64: A and B one double a lane, C and D two. Words: low then high for each lane.
__global__ void f64_k4(const double* in, double* out) {
  const double* record = in + blockIdx.x * 128;
  const int lane = threadIdx.x;
  double d0, d1;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%4,%5};"
               : "=d"(d0), "=d"(d1)
               : "d"(record[lane]), "d"(record[32 + lane]), "d"(record[64 + lane]), "d"(record[96 + lane]));
  out[blockIdx.x * 64 + lane] = d0;
  out[blockIdx.x * 64 + 32 + lane] = d1;
}

void record_mma_f64(RecordFile& file, int records) {
  Random random{64};
  std::vector<double> values(static_cast<size_t>(records) * 128);
  for (auto& value : values) {
    const double magnitude = 1.0 + static_cast<double>(random.next() >> 12) * 0x1p-52;
    value = std::ldexp(random.below(2) ? -magnitude : magnitude, random.between(-30, 30));
  }
  Words in(values.size() * 2);
  std::memcpy(in.data(), values.data(), in.size() * 4);
  const Words out = on_device(in, size_t{128} * records, [&](const uint32_t* x, uint32_t* y) {
    f64_k4<<<records, 32>>>(reinterpret_cast<const double*>(x), reinterpret_cast<double*>(y));
  });
  file.section("mma.m8n8k4.f64", 256, 128, in, out);
}

void record_tensor_cores(const std::string& folder) {
  RecordFile fp8(folder, "mma_fp8.bin");
  record_mma(fp8, "mma.m16n8k32.e4m3.e4m3.f32", e4m3_f32, 32, kE4m3, kE4m3, kF32, 490);
  record_mma(fp8, "mma.m16n8k32.e5m2.e5m2.f32", e5m2_f32, 32, kE5m2, kE5m2, kF32, 140);
  record_mma(fp8, "mma.m16n8k32.e4m3.e5m2.f32", mixed_f32, 32, kE4m3, kE5m2, kF32, 84);
  record_mma(fp8, "mma.m16n8k32.e4m3.e4m3.f16", e4m3_f16, 32, kE4m3, kE4m3, kF16, 280);
  record_mma(fp8, "mma.m16n8k32.e5m2.e5m2.f16", e5m2_f16, 32, kE5m2, kE5m2, kF16, 84);
  record_mma(fp8, "mma.m16n8k16.e4m3.e4m3.f32", e4m3_k16_f32, 16, kE4m3, kE4m3, kF32, 84);
  RecordFile half(folder, "mma_half.bin");
  record_mma(half, "mma.m16n8k16.f16.f16.f32", f16_f32, 16, kF16, kF16, kF32, 350);
  record_mma(half, "mma.m16n8k16.f16.f16.f16", f16_f16, 16, kF16, kF16, kF16, 280);
  record_mma(half, "mma.m16n8k16.bf16.bf16.f32", bf16_f32, 16, kBf16, kBf16, kF32, 210);
  record_mma(half, "mma.m16n8k8.f16.f16.f32", f16_k8_f32, 8, kF16, kF16, kF32, 84);
  record_mma(half, "mma.m16n8k8.f16.f16.f16", f16_k8_f16, 8, kF16, kF16, kF16, 84);
  record_mma(half, "mma.m16n8k8.bf16.bf16.f32", bf16_k8_f32, 8, kBf16, kBf16, kF32, 84);
  record_mma(half, "mma.m16n8k8.tf32.tf32.f32", tf32_f32, 8, kTf32, kTf32, kF32, 140);
  record_mma(half, "mma.m16n8k4.tf32.tf32.f32", tf32_k4_f32, 4, kTf32, kTf32, kF32, 84);
  record_mma(half, "mma.m16n8k32.s8.s8.s32", s8_s32, 32, kInt8, kInt8, kF32, 16);
  record_mma(half, "mma.m16n8k32.u8.s8.s32.satfinite", u8s8_sat, 32, kInt8, kInt8, kF32, 16);
  record_mma_f64(half, 32);
}

// ---- Functions of one word: every thread computes all outputs of one record.

#define OP1(index, type, PTX, out_constraint, in_constraint, value)       \
  {                                                                       \
    type result;                                                          \
    asm volatile(PTX " %0, %1;" : out_constraint(result) : in_constraint(value)); \
    y[index] = static_cast<uint32_t>(result);                             \
  }
#define F32_TO_F32(index, PTX)                                                       \
  {                                                                                  \
    float result;                                                                    \
    asm volatile(PTX " %0, %1;" : "=f"(result) : "f"(__uint_as_float(x)));           \
    y[index] = __float_as_uint(result);                                              \
  }
#define FROM_F32_H(index, PTX) OP1(index, unsigned short, PTX, "=h", "f", __uint_as_float(x))
#define FROM_F32_R(index, PTX) OP1(index, uint32_t, PTX, "=r", "f", __uint_as_float(x))
// Packing forms: upper element from -x, lower from x.
#define FROM_F32_PAIR(index, type, PTX, out_constraint)                                                       \
  {                                                                                                           \
    type result;                                                                                              \
    asm volatile(PTX " %0, %1, %2;" : out_constraint(result) : "f"(-__uint_as_float(x)), "f"(__uint_as_float(x))); \
    y[index] = result;                                                                                        \
  }
#define FROM_H_TO_F32(index, PTX)                                                            \
  {                                                                                          \
    float result;                                                                            \
    asm volatile(PTX " %0, %1;" : "=f"(result) : "h"(static_cast<unsigned short>(x)));       \
    y[index] = __float_as_uint(result);                                                      \
  }
#define PACKED(index, PTX) OP1(index, uint32_t, PTX, "=r", "r", x)
#define PACKED_TO_H(index, PTX) OP1(index, unsigned short, PTX, "=h", "r", x)
#define H_TO_PACKED(index, PTX) OP1(index, uint32_t, PTX, "=r", "h", static_cast<unsigned short>(x))

#define ONE_WORD_KERNEL(NAME, OUTPUTS, BODY)                                  \
  __global__ void NAME(const uint32_t* in, uint32_t* out, size_t n) {         \
    const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;           \
    if (i >= n) return;                                                       \
    const uint32_t x = in[i];                                                 \
    uint32_t* y = out + i * OUTPUTS;                                          \
    BODY                                                                      \
  }

ONE_WORD_KERNEL(all_approx, 15, {
  F32_TO_F32(0, "ex2.approx.f32")
  F32_TO_F32(1, "ex2.approx.ftz.f32")
  F32_TO_F32(2, "lg2.approx.f32")
  F32_TO_F32(3, "lg2.approx.ftz.f32")
  F32_TO_F32(4, "rcp.approx.f32")
  F32_TO_F32(5, "rcp.approx.ftz.f32")
  F32_TO_F32(6, "rsqrt.approx.f32")
  F32_TO_F32(7, "rsqrt.approx.ftz.f32")
  F32_TO_F32(8, "sqrt.approx.f32")
  F32_TO_F32(9, "sqrt.approx.ftz.f32")
  F32_TO_F32(10, "sin.approx.f32")
  F32_TO_F32(11, "sin.approx.ftz.f32")
  F32_TO_F32(12, "cos.approx.f32")
  F32_TO_F32(13, "cos.approx.ftz.f32")
  F32_TO_F32(14, "tanh.approx.f32")
})
ONE_WORD_KERNEL(only_ex2, 1, F32_TO_F32(0, "ex2.approx.ftz.f32"))
ONE_WORD_KERNEL(only_lg2, 1, F32_TO_F32(0, "lg2.approx.ftz.f32"))
ONE_WORD_KERNEL(only_rcp, 1, F32_TO_F32(0, "rcp.approx.ftz.f32"))
ONE_WORD_KERNEL(only_rsqrt, 1, F32_TO_F32(0, "rsqrt.approx.ftz.f32"))
ONE_WORD_KERNEL(only_sqrt, 1, F32_TO_F32(0, "sqrt.approx.ftz.f32"))
ONE_WORD_KERNEL(only_tanh, 1, F32_TO_F32(0, "tanh.approx.f32"))
ONE_WORD_KERNEL(sin_cos, 2, F32_TO_F32(0, "sin.approx.ftz.f32") F32_TO_F32(1, "cos.approx.ftz.f32"))

// The input holds the same 16 bits twice.
ONE_WORD_KERNEL(from_16_bits, 14, {
  PACKED(0, "ex2.approx.f16x2")
  PACKED(1, "tanh.approx.f16x2")
  PACKED(2, "ex2.approx.ftz.bf16x2")
  PACKED(3, "tanh.approx.bf16x2")
  FROM_H_TO_F32(4, "cvt.f32.f16")
  FROM_H_TO_F32(5, "cvt.f32.bf16")
  PACKED_TO_H(6, "cvt.rn.satfinite.e4m3x2.f16x2")
  PACKED_TO_H(7, "cvt.rn.satfinite.relu.e4m3x2.f16x2")
  PACKED_TO_H(8, "cvt.rn.satfinite.e5m2x2.f16x2")
  PACKED_TO_H(9, "cvt.rn.satfinite.relu.e5m2x2.f16x2")
  OP1(10, unsigned short, "cvt.rn.bf16.f16", "=h", "h", static_cast<unsigned short>(x))
  OP1(11, unsigned short, "cvt.rn.f16.bf16", "=h", "h", static_cast<unsigned short>(x))
  FROM_H_TO_F32(12, "cvt.ftz.f32.f16")
  OP1(13, unsigned short, "ex2.approx.f16", "=h", "h", static_cast<unsigned short>(x))
})
ONE_WORD_KERNEL(from_8_bits, 4, {
  H_TO_PACKED(0, "cvt.rn.f16x2.e4m3x2")
  H_TO_PACKED(1, "cvt.rn.relu.f16x2.e4m3x2")
  H_TO_PACKED(2, "cvt.rn.f16x2.e5m2x2")
  H_TO_PACKED(3, "cvt.rn.relu.f16x2.e5m2x2")
})
ONE_WORD_KERNEL(from_f32, 28, {
  FROM_F32_H(0, "cvt.rn.f16.f32")
  FROM_F32_H(1, "cvt.rz.f16.f32")
  FROM_F32_H(2, "cvt.rm.f16.f32")
  FROM_F32_H(3, "cvt.rp.f16.f32")
  FROM_F32_H(4, "cvt.rn.ftz.f16.f32")
  FROM_F32_H(5, "cvt.rn.relu.f16.f32")
  FROM_F32_H(6, "cvt.rn.satfinite.f16.f32")
  FROM_F32_H(7, "cvt.rn.bf16.f32")
  FROM_F32_H(8, "cvt.rz.bf16.f32")
  FROM_F32_H(9, "cvt.rm.bf16.f32")
  FROM_F32_H(10, "cvt.rp.bf16.f32")
  FROM_F32_H(11, "cvt.rn.relu.bf16.f32")
  FROM_F32_H(12, "cvt.rn.satfinite.bf16.f32")
  FROM_F32_R(13, "cvt.rna.tf32.f32")
  FROM_F32_R(14, "cvt.rn.tf32.f32")
  FROM_F32_R(15, "cvt.rz.tf32.f32")
  FROM_F32_R(16, "cvt.rn.relu.tf32.f32")
  FROM_F32_PAIR(17, uint32_t, "cvt.rn.f16x2.f32", "=r")
  FROM_F32_PAIR(18, uint32_t, "cvt.rz.f16x2.f32", "=r")
  FROM_F32_PAIR(19, uint32_t, "cvt.rn.relu.f16x2.f32", "=r")
  FROM_F32_PAIR(20, uint32_t, "cvt.rn.satfinite.f16x2.f32", "=r")
  FROM_F32_PAIR(21, uint32_t, "cvt.rn.bf16x2.f32", "=r")
  FROM_F32_PAIR(22, uint32_t, "cvt.rz.bf16x2.f32", "=r")
  FROM_F32_PAIR(23, unsigned short, "cvt.rn.satfinite.e4m3x2.f32", "=h")
  FROM_F32_PAIR(24, unsigned short, "cvt.rn.satfinite.relu.e4m3x2.f32", "=h")
  FROM_F32_PAIR(25, unsigned short, "cvt.rn.satfinite.e5m2x2.f32", "=h")
  FROM_F32_PAIR(26, unsigned short, "cvt.rn.satfinite.relu.e5m2x2.f32", "=h")
  FROM_F32_R(27, "cvt.rna.satfinite.tf32.f32")
})

#define FROM_F64(index, type, PTX, out_constraint)                        \
  {                                                                       \
    type result;                                                          \
    asm volatile(PTX " %0, %1;" : out_constraint(result) : "d"(value));   \
    y[index] = static_cast<uint32_t>(result);                             \
  }
#define F64_TO_F32(index, PTX)                                            \
  {                                                                       \
    float result;                                                         \
    asm volatile(PTX " %0, %1;" : "=f"(result) : "d"(value));             \
    y[index] = __float_as_uint(result);                                   \
  }
__global__ void from_f64(const double* in, uint32_t* out, size_t n) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const double value = in[i];
  uint32_t* y = out + i * 8;
  FROM_F64(0, unsigned short, "cvt.rn.f16.f64", "=h")
  FROM_F64(1, unsigned short, "cvt.rz.f16.f64", "=h")
  FROM_F64(2, unsigned short, "cvt.rn.bf16.f64", "=h")
  F64_TO_F32(3, "cvt.rn.f32.f64")
  F64_TO_F32(4, "cvt.rz.f32.f64")
  F64_TO_F32(5, "cvt.rm.f32.f64")
  F64_TO_F32(6, "cvt.rp.f32.f64")
  F64_TO_F32(7, "cvt.rn.ftz.f32.f64")
}

using WordKernel = void (*)(const uint32_t*, uint32_t*, size_t);

Words apply(WordKernel kernel, const Words& in, size_t outputs) {
  return on_device(in, in.size() * outputs, [&](const uint32_t* x, uint32_t* y) {
    kernel<<<static_cast<unsigned>((in.size() + 255) / 256), 256>>>(x, y, in.size());
  });
}

void record_words(RecordFile& file, const char* name, WordKernel kernel, uint32_t outputs, const Words& in) {
  file.section(name, 1, outputs, in, apply(kernel, in, outputs));
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

/// Edge values of f32, then random bits.
Words f32_inputs(size_t count, uint64_t seed) {
  Words in;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t fraction : {0u, 1u, 0x400000u, 0x400001u, 0x7fffffu, 0x3fffffu})
      for (uint32_t sign : {0u, 0x80000000u}) in.push_back(sign | exponent << 23 | fraction);
  for (float value : {0.25f, 0.5f, 126.f, 127.5f, 128.f, 129.f, 149.f, 150.f, 151.f, 192.f, 447.f, 448.f, 449.f, 464.f,
                      465.f, 480.f, 57344.f, 61440.f, 61441.f, 65504.f, 65519.f, 65520.f, 65536.f})
    for (int step = -2; step <= 2; ++step) {
      in.push_back(bits_of(value) + step);
      in.push_back((bits_of(value) + step) | 0x80000000u);
    }
  Random random{seed};
  while (in.size() < count) in.push_back(random.bits());
  return in;
}

/// Random values spread evenly over [low, high).
Words uniform_inputs(size_t count, double low, double high, uint64_t seed) {
  Random random{seed};
  Words in(count);
  for (auto& word : in)
    word = bits_of(static_cast<float>(low + (high - low) * (static_cast<double>(random.next() >> 11) * 0x1p-53)));
  return in;
}

void record_approximations(const std::string& folder) {
  RecordFile file(folder, "approx.bin");
  record_words(file, "approx.f32.all", all_approx, 15, f32_inputs(20000, 1));
  record_words(file, "ex2.ftz.f32", only_ex2, 1, uniform_inputs(32768, -30, 30, 2));
  record_words(file, "ex2.ftz.f32.unit", only_ex2, 1, uniform_inputs(32768, -1, 1, 3));
  record_words(file, "lg2.ftz.f32", only_lg2, 1, uniform_inputs(32768, 0, 8, 4));
  record_words(file, "sqrt.ftz.f32", only_sqrt, 1, uniform_inputs(32768, 1, 4, 5));
  record_words(file, "tanh.f32", only_tanh, 1, uniform_inputs(65536, 0, 10, 6));
  record_words(file, "tanh.f32.unit", only_tanh, 1, uniform_inputs(32768, 0, 0.25, 7));
  record_words(file, "sincos.ftz.f32.unit", sin_cos, 2, uniform_inputs(65536, 0, 6.2831853, 8));
  record_words(file, "sincos.ftz.f32", sin_cos, 2, uniform_inputs(16384, -200, 200, 9));
}

void record_conversions(const std::string& folder) {
  RecordFile file(folder, "convert.bin");
  Words all16(65536), all8(256);
  for (uint32_t i = 0; i < 65536; ++i) all16[i] = i | i << 16;
  for (uint32_t i = 0; i < 256; ++i) all8[i] = i | i << 8;
  record_words(file, "from.16bits", from_16_bits, 14, all16);
  record_words(file, "from.8bits", from_8_bits, 4, all8);
  Words in = f32_inputs(8192, 10);
  const Words near = uniform_inputs(4096, -500, 500, 11), small = uniform_inputs(4096, -0.02, 0.02, 12);
  in.insert(in.end(), near.begin(), near.end());
  in.insert(in.end(), small.begin(), small.end());
  record_words(file, "from.f32", from_f32, 28, in);

  Random random{13};
  std::vector<double> doubles;
  for (uint32_t word : f32_inputs(4096, 14)) {
    float value;
    std::memcpy(&value, &word, 4);
    doubles.push_back(value);
    doubles.push_back(std::ldexp(1.0 + static_cast<double>(random.next() >> 12) * 0x1p-52, random.between(-160, 130)));
  }
  Words words(doubles.size() * 2);
  std::memcpy(words.data(), doubles.data(), words.size() * 4);
  const size_t n = doubles.size();
  const Words out = on_device(words, n * 8, [&](const uint32_t* x, uint32_t* y) {
    from_f64<<<static_cast<unsigned>((n + 255) / 256), 256>>>(reinterpret_cast<const double*>(x), y, n);
  });
  file.section("from.f64", 2, 8, words, out);
}

// ---- Whole binades, as differences from the correctly rounded value.

void record_sweep(const std::string& folder, const char* name, WordKernel kernel, size_t count,
                  double (*exact)(double)) {
  Words in(count);
  for (size_t i = 0; i < count; ++i) in[i] = bits_of(1.0f) + static_cast<uint32_t>(i);
  const Words out = apply(kernel, in, 1);
  std::vector<uint8_t> nibbles(count / 2);
  int worst = 0;
  for (size_t i = 0; i < count; ++i) {
    float x;
    std::memcpy(&x, &in[i], 4);
    const int64_t difference = int64_t{out[i]} - int64_t{bits_of(static_cast<float>(exact(x)))};
    if (std::abs(static_cast<int>(difference)) > worst) worst = std::abs(static_cast<int>(difference));
    const uint8_t code = difference < -7 || difference > 7 ? 0 : static_cast<uint8_t>(difference + 8);
    nibbles[i / 2] |= static_cast<uint8_t>(code << (i % 2 * 4));
  }
  RecordFile file(folder, name);
  file.write(nibbles.data(), nibbles.size());
  std::printf("%-40s worst difference %d\n", name, worst);
}

void record_sweeps(const std::string& folder) {
  record_sweep(folder, "sweep_ex2.bin", only_ex2, 1 << 23, [](double x) { return std::exp2(x); });
  record_sweep(folder, "sweep_rcp.bin", only_rcp, 1 << 23, [](double x) { return 1.0 / x; });
  record_sweep(folder, "sweep_rsqrt.bin", only_rsqrt, 1 << 24, [](double x) { return 1.0 / std::sqrt(x); });
  record_sweep(folder, "sweep_lg2.bin", only_lg2, 1 << 23, [](double x) { return std::log2(x); });
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_numerics OUTDIR\n");
    return 2;
  }
  const std::string folder = argv[1];
  record_tensor_cores(folder);
  record_approximations(folder);
  record_conversions(folder);
  record_sweeps(folder);
  return 0;
}

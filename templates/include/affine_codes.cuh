#pragma once
// Affine codes of 8 bits as operands of f16 products. What is multiplied is (code - zero point) / unit, exactly: whole
// numbers from -255 to 255 are f16 values. Scales, and `unit`, multiply sums in f32. Of four codes, codes 0 and 2 make
// the first pair and codes 1 and 3 the second one. Needs types.cuh, convert.cuh, f16x2.cuh and memory.cuh.

// Looks codes up in a shared table.
struct TableDecoder {
  static constexpr float unit = 1.0f;
  static constexpr bool leaves_zero_point = false;
  shared_address table;

  __device__ __forceinline__ TableDecoder(int, shared_address table) : table(table) {}

  __device__ __forceinline__ u32 entry(u32 code) const {
    u32 bits;
    asm volatile("{ .reg .u16 half; ld.shared.u16 half, [%1]; cvt.u32.u16 %0, half; }"
                 : "=r"(bits)
                 : "r"(table + 2 * code)
                 : "memory");
    return bits;
  }

  __device__ __forceinline__ void decode(u32 codes, f16x2& first, f16x2& second) const {
    first = entry(codes & 0xff) | entry(codes >> 16 & 0xff) << 16;
    second = entry(codes >> 8 & 0xff) | entry(codes >> 24) << 16;
  }
};

constexpr int table_bytes = 512;

// Thread `thread` of `fillers` takes part.
template <int fillers>
__device__ __forceinline__ void fill_table(shared_address table, int zero_point, int thread) {
#pragma unroll
  for (int pair = thread; pair < 128; pair += fillers) {
    const f16x2 entries = f16x2_from_f32((float)(2 * pair - zero_point), (float)(2 * pair + 1 - zero_point));
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(table + 4 * pair), "r"(entries) : "memory");
  }
}

// A byte c as the low one of an f16 whose high byte is 0x64 is 1024 + c.
struct BytesDecoder {
  static constexpr float unit = 1.0f;
  static constexpr bool leaves_zero_point = false;
  f16x2 offset;

  __device__ __forceinline__ BytesDecoder(int zero_point, shared_address = 0)
      : offset(0x64006400u + zero_point * 0x10001u) {}

  __device__ __forceinline__ void decode(u32 codes, f16x2& first, f16x2& second) const {
    first = subtract_f16x2(pick_bytes<0x4240>(codes, 0x64646464u), offset);
    second = subtract_f16x2(pick_bytes<0x4341>(codes, 0x64646464u), offset);
  }
};

// A byte c as the low one of an f16 is the subnormal c 2^-24; one FMA makes (c - zero point) 2^-9 of it.
struct FmaDecoder {
  static constexpr float unit = 512.0f;
  static constexpr bool leaves_zero_point = false;
  f16x2 offset;

  __device__ __forceinline__ FmaDecoder(int zero_point, shared_address)
      : offset(twice_f16((float)zero_point * (-1.0f / 512.0f))) {}

  __device__ __forceinline__ void decode(u32 codes, f16x2& first, f16x2& second) const {
    constexpr f16x2 factor = 0x78007800u;  // 2^15
    first = fma_f16x2(pick_bytes<0x4240>(codes, 0), factor, offset);
    second = fma_f16x2(pick_bytes<0x4341>(codes, 0), factor, offset);
  }
};

// Codes as they are: subnormals. The zero point is left to the sums.
struct RawDecoder {
  static constexpr float unit = 16777216.0f;
  static constexpr bool leaves_zero_point = true;

  __device__ __forceinline__ RawDecoder(int, shared_address) {}

  __device__ __forceinline__ void decode(u32 codes, f16x2& first, f16x2& second) const {
    first = pick_bytes<0x4240>(codes, 0);
    second = pick_bytes<0x4341>(codes, 0);
  }
};

// By the names that genes have for them.
namespace decoders {
typedef TableDecoder table;
typedef BytesDecoder bytes;
typedef FmaDecoder fma;
typedef RawDecoder raw;
}  // namespace decoders

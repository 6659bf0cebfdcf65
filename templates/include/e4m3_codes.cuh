// E4M3 codes as operands of f16 products: exact, every E4M3 value is an f16 value. What is multiplied is value / unit;
// `unit` multiplies sums in f32. NaN codes become numbers but for ConvertDecoder. Needs types.cuh, convert.cuh and
// f16x2.cuh.

//% if fp8_convert
// The converter of sm_89 and newer.
struct ConvertDecoder {
  static constexpr float unit = 1.0f;

  __device__ __forceinline__ ConvertDecoder(shared_address = 0) {}
  __device__ __forceinline__ f16x2 first(e4m3x4 codes) const { return first_pair(codes); }
  __device__ __forceinline__ f16x2 second(e4m3x4 codes) const { return second_pair(codes); }
};

//% end
// Sign, exponent and mantissa moved to their places in an f16: its exponent's bias is larger by 8.
struct BitsDecoder {
  static constexpr float unit = 256.0f;

  __device__ __forceinline__ BitsDecoder(shared_address = 0) {}

  static __device__ __forceinline__ f16x2 moved(u32 high_bytes) {
    return (high_bytes & 0x80008000u) | (high_bytes >> 1 & 0x3f803f80u);
  }
  __device__ __forceinline__ f16x2 first(e4m3x4 codes) const { return moved(pick_bytes<0x1404>(codes, 0)); }
  __device__ __forceinline__ f16x2 second(e4m3x4 codes) const { return moved(pick_bytes<0x3424>(codes, 0)); }
};

// Looks codes up among 256 numbers in shared memory. Each lane has a table of its own in a bank of its own, 128 pairs
// of 4 bytes 128 bytes apart: whatever the codes are, lanes do not wait for each other.
struct TableDecoder {
  static constexpr float unit = 1.0f;
  shared_address table;

  __device__ __forceinline__ TableDecoder(shared_address tables) : table(tables + threadIdx.x % 32 * 4) {}

  __device__ __forceinline__ u32 entry(u32 code) const {
    u32 bits;
    asm volatile("{ .reg .u16 half; ld.shared.u16 half, [%1]; cvt.u32.u16 %0, half; }"
                 : "=r"(bits)
                 : "r"(table + (code >> 1) * 128 + (code & 1) * 2)
                 : "memory");
    return bits;
  }
  __device__ __forceinline__ f16x2 first(e4m3x4 codes) const {
    return entry(codes & 0xff) | entry(codes >> 8 & 0xff) << 16;
  }
  __device__ __forceinline__ f16x2 second(e4m3x4 codes) const { return first(codes >> 16); }
};

// Thread `thread` of `fillers`, a multiple of 32, takes part; a barrier has to follow.
template <int fillers>
__device__ __forceinline__ void fill_tables(shared_address tables, int thread) {
#pragma unroll 4
  for (int pair = thread / 32; pair < 128; pair += fillers / 32) {
    const u32 codes = 2 * pair | (2 * pair + 1) << 8;
    const f16x2 entries = multiply_f16x2(BitsDecoder().first(codes), twice_f16(BitsDecoder::unit));
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(tables + pair * 128 + thread % 32 * 4), "r"(entries) : "memory");
  }
}

template <typename Decoder>
__device__ __forceinline__ void decode_in_order(const Decoder& decoder, e4m3x4 codes, f16x2& first, f16x2& second) {
  first = decoder.first(codes);
  second = decoder.second(codes);
}

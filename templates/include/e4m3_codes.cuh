// E4M3 codes as operands of f16 products: exact, every E4M3 value is an f16 value. What is multiplied is value / unit;
// `unit` multiplies sums in f32. NaN codes become numbers but for ConvertDecoder. Needs types.cuh, convert.cuh and
// f16x2.cuh.

//% if sm >= 89
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

// Looks codes up among the 256 numbers of a shared table.
struct TableDecoder {
  static constexpr float unit = 1.0f;
  shared_address table;

  __device__ __forceinline__ TableDecoder(shared_address table) : table(table) {}

  __device__ __forceinline__ u32 entry(u32 code) const {
    u32 bits;
    asm volatile("{ .reg .u16 half; ld.shared.u16 half, [%1]; cvt.u32.u16 %0, half; }"
                 : "=r"(bits)
                 : "r"(table + 2 * code)
                 : "memory");
    return bits;
  }
  __device__ __forceinline__ f16x2 first(e4m3x4 codes) const {
    return entry(codes & 0xff) | entry(codes >> 8 & 0xff) << 16;
  }
  __device__ __forceinline__ f16x2 second(e4m3x4 codes) const { return first(codes >> 16); }
};

// Thread `thread` of `fillers` takes part; a barrier has to follow.
template <int fillers>
__device__ __forceinline__ void fill_table(shared_address table, int thread) {
#pragma unroll
  for (int pair = thread; pair < 128; pair += fillers) {
    const u32 codes = 2 * pair | (2 * pair + 1) << 8;
    const f16x2 entries = multiply_f16x2(BitsDecoder().first(codes), twice_f16(BitsDecoder::unit));
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(table + 4 * pair), "r"(entries) : "memory");
  }
}

template <typename Decoder>
__device__ __forceinline__ void decode_in_order(const Decoder& decoder, e4m3x4 codes, f16x2& first, f16x2& second) {
  first = decoder.first(codes);
  second = decoder.second(codes);
}

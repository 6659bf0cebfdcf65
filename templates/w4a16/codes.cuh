// Codes as bf16 values. 128 + code has the code in the last bits of its mantissa, and all differences of codes and zero
// points are bf16 values, so that nothing is rounded.
constexpr u32 bf16x2_one = 0x3f803f80;
constexpr u32 bf16x2_minus_zero = 0x80008000;
constexpr u32 bf16x2_128 = 0x43004300;
constexpr u32 bf16x2_minus_128 = 0xc300c300;

__device__ __forceinline__ u32 fma_bf16x2(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// -(128 + zero point), twice: what codes become values by.
__device__ __forceinline__ u32 offset_of(u32 stored_zero) {
  return bf16x2_minus_128 + (stored_zero + zero_offset) * 0x10001;
}

// The values of a word: pair p has those of its codes p and p + 4.
__device__ __forceinline__ void decode(u32 (&pairs)[4], u32 word, u32 offset) {
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    u32 codes_over_128;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(codes_over_128) : "r"(word >> 4 * p), "r"(0x000f000f), "r"(bf16x2_128));
    pairs[p] = fma_bf16x2(codes_over_128, bf16x2_one, offset);
  }
}

// Rounded to bf16.
__device__ __forceinline__ void scale_pairs(u32 (&pairs)[4], u32 scale_twice) {
#pragma unroll
  for (int p = 0; p < 4; ++p) pairs[p] = fma_bf16x2(pairs[p], scale_twice, bf16x2_minus_zero);
}

// Eight activations in the order of codes in words: pair p has those of depths p and p + 4.
__device__ __forceinline__ void pair_like_codes(u32 (&pairs)[4], uint4 eight) {
  pairs[0] = pick_bytes<0x5410>(eight.x, eight.z);
  pairs[1] = pick_bytes<0x7632>(eight.x, eight.z);
  pairs[2] = pick_bytes<0x5410>(eight.y, eight.w);
  pairs[3] = pick_bytes<0x7632>(eight.y, eight.w);
}

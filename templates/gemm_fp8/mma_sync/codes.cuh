// Products of e4m3 codes. Fragments are those of mma.m16n8k32 (include/mma.cuh).
constexpr bool codes = ${codes};  // tensor cores take codes; else the same values in f16

// In f16: exact, NaN too. `product_unit` makes products of codes of products of these.
//% if sm >= 89
constexpr float product_unit = 1.0f;
__device__ __forceinline__ f16x2 first_halves(e4m3x4 four) { return first_pair(four); }
__device__ __forceinline__ f16x2 second_halves(e4m3x4 four) { return second_pair(four); }
//% else
constexpr float product_unit = 65536.0f;

// Sign, exponent and mantissa moved to their places in an f16, whose exponent's bias is larger by 8: values are 2^-8 as
// large. The largest magnitude is NaN: one step more and bit 14 is set, with which the exponent is that of NaN.
__device__ __forceinline__ f16x2 moved(u32 high_bytes) {
  const f16x2 halves = (high_bytes & 0x80008000u) | (high_bytes >> 1 & 0x3f803f80u);
  return halves | ((halves + 0x00800080u) & 0x40004000u);
}
__device__ __forceinline__ f16x2 first_halves(e4m3x4 four) { return moved(pick_bytes<0x1404>(four, 0)); }
__device__ __forceinline__ f16x2 second_halves(e4m3x4 four) { return moved(pick_bytes<0x3424>(four, 0)); }
//% end

// The operand of 16 rows. In f16 two products take the place of one: of depths 0 .. 15 and 16 .. 31. Which depth a
// value has within its product does not matter, as long as both operands agree.
struct RowsOperand {
  u32 fragment[4];
  f16x2 halves[2][4];

  __device__ __forceinline__ void widen() {
    if constexpr (codes) return;
#pragma unroll
    for (int product = 0; product < 2; ++product) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        halves[product][r] = first_halves(fragment[2 * product + r]);
        halves[product][2 + r] = second_halves(fragment[2 * product + r]);
      }
    }
  }
};

// sums += a b, 16 rows by 8 columns over 32 depths
__device__ __forceinline__ void multiply(float (&sums)[4], const RowsOperand& a, e4m3x4 b0, e4m3x4 b1) {
  if constexpr (codes) {
    mma_e4m3(sums, a.fragment, b0, b1);
  } else {
    mma_f16(sums, a.halves[0], first_halves(b0), second_halves(b0));
    mma_f16(sums, a.halves[1], first_halves(b1), second_halves(b1));
  }
}

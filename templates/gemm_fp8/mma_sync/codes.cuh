// Products of e4m3 codes. Fragments are those of mma.m16n8k32 (include/mma.cuh).
constexpr bool codes = ${codes};  // tensor cores take codes; else the same values in f16

#include "include/e4m3_halves.cuh"
constexpr float product_unit = code_unit * code_unit;

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

#pragma once
// E4M3 codes as operands of f16 products, NaN too. What is multiplied is value / code_unit, exactly; the unit is left to
// the sums. Where the GPU has no conversion, e4m3_by_bits.cuh has all of this. Needs types.cuh and convert.cuh.
//% if fp8_convert
constexpr float code_unit = 1.0f;

// Codes 0 and 1 of four, codes 2 and 3.
__device__ __forceinline__ f16x2 first_halves(e4m3x4 four) { return first_pair(four); }
__device__ __forceinline__ f16x2 second_halves(e4m3x4 four) { return second_pair(four); }

// Codes 0 and 2, codes 1 and 3.
__device__ __forceinline__ f16x2 even_halves(e4m3x4 four) {
  return first_pair(pick_bytes<0x4420>(four, 0));
}
__device__ __forceinline__ f16x2 odd_halves(e4m3x4 four) {
  return first_pair(pick_bytes<0x4431>(four, 0));
}
//% end

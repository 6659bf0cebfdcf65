// ${line_percent} % of the weights by the line of `code`, the others ${mixed_with == 'ex2' ? 'on the multi-function unit, whose rate the line spares' : 'by the parabola of code_quadratic'}.
// These are raised by the line's mean error (0.46 eighths of an octave): a common factor cancels in the row's sum.
constexpr float units_per_octave = 8.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }
__device__ __forceinline__ float weight_offset(float row_max) { return 119.0f - row_max; }
constexpr float line_error = 0.46f;
constexpr bool with_ex2 = ${mixed_with == 'ex2'};

// Whether the weights of this operand register are on the line.
__device__ __forceinline__ constexpr bool on_line(int reg) {
  return (reg + 1) * ${line_percent} / 100 != reg * ${line_percent} / 100;
}

#include "include/attention/e4m3/exponential/rounded.cuh"
#include "parabola.cuh"

__device__ __forceinline__ float weight(float score, float scale, float offset, int reg) {
  if (on_line(reg)) return fmaxf(fmaf(score, scale, offset + 8388608.0f), 8388608.0f);  // 2^23
  if (with_ex2) return exp2_approximate(fmaf(score, scale * 0.125f, (offset + (line_error - 56.0f)) * 0.125f));
  return code_by_parabola(fmaf(score, scale, offset + line_error));
}
__device__ __forceinline__ e4m3x4 codes_of(float w0, float w1, float w2, float w3, int reg) {
  if (with_ex2 && !on_line(reg)) return join(e4m3x2_from_f32(w0, w1), e4m3x2_from_f32(w2, w3));
  return low_bytes(w0, w1, w2, w3);
}

__device__ __forceinline__ f16x2 weight(f16x2 scores, const RowLogarithm& row, int reg) {
  constexpr f16x2 magic = 0x64006400u;  // 2^10
  if (on_line(reg)) return max_f16x2(fma_f16x2(scores, row.scale, add_f16x2(row.offset, magic)), magic);
  if (!with_ex2) return code_by_parabola(fma_f16x2(scores, row.scale, add_f16x2(row.offset, twice_f16(line_error))));
  const f16x2 eighth = twice_f16(0.125f);
  const f16x2 exponent_offset = multiply_f16x2(add_f16x2(row.offset, twice_f16(line_error - 56.0f)), eighth);
  return exp2_approximate(fma_f16x2(scores, multiply_f16x2(row.scale, eighth), exponent_offset));
}
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int reg) {
  if (with_ex2 && !on_line(reg)) return join(e4m3x2_from_f16x2(w01), e4m3x2_from_f16x2(w23));
  return low_bytes(w01, w23);
}

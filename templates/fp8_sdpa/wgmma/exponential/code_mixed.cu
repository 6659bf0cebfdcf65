// Every second weight by the line 8 y + 56, the others as in `code_quadratic`: half the error of the line for half the price of
// the parabola. The line lies 4 % too high on average, so the parabola is raised as much (0.46 eighths of an octave);
// a common factor cancels in the row's sum.
constexpr float units_per_octave = 8.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }

//% if score_type == 'f32'
__device__ __forceinline__ float weight_offset(float row_max) {
  return 8388608.0f + 120.0f - row_max;  // 2^23
}
__device__ __forceinline__ float weight(float score, float scale, float offset, int index) {
  if (index / 4 % 2 == 0) return fmaxf(fmaf(score, scale, offset), 8388608.0f);
  const float line = fmaxf(fmaf(score, scale, __fadd_rn(offset, -8388608.0f) + 0.46f), 0.0f);
  const float nearest_octave =
      __fadd_rn(__fadd_rn(line, 100663296.0f), -100663296.0f);  // 1.5 * 2^26: f32 values there are 8 apart
  const float g = fabsf(line - nearest_octave);
  return fmaf(g, fmaf(g, 0.0421487f, -0.3371894f), line) + 8388608.0f;
}
__device__ __forceinline__ e4m3x4 codes_of(float w0, float w1, float w2, float w3) {
  const u32 low = pick_bytes<0x0040>(__float_as_uint(w0), __float_as_uint(w1));
  const u32 high = pick_bytes<0x0040>(__float_as_uint(w2), __float_as_uint(w3));
  return pick_bytes<0x5410>(low, high);
}
//% else
__device__ __forceinline__ float weight_offset(float row_max) { return 1144.0f - row_max; }
__device__ __forceinline__ f16x2 weight(f16x2 scores, f16x2 scale, f16x2 offset, int index) {
  if (index / 2 % 2 == 0) return max_f16x2(fma_f16x2(scores, scale, offset), 0x64006400u);  // 2^10
  const f16x2 raised = add_f16x2(add_f16x2(offset, 0xe400e400u), twice_f16(0.46f));  // - 2^10
  const f16x2 line = max_f16x2(fma_f16x2(scores, scale, raised), 0u);
  const f16x2 nearest_octave =
      subtract_f16x2(add_f16x2(line, 0x70007000u), 0x70007000u);  // 2^13: f16 values there are 8 apart
  const f16x2 g = subtract_f16x2(line, nearest_octave) & 0x7fff7fffu;
  const f16x2 bend = fma_f16x2(g, twice_f16(0.0421487f), twice_f16(-0.3371894f));
  return add_f16x2(fma_f16x2(g, bend, line), 0x64006400u);  // the code is in the low byte
}
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23) { return pick_bytes<0x6420>(w01, w23); }
//% end

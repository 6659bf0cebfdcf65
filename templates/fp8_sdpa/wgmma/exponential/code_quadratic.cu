// The e4m3 code itself, as in `code`, with the mantissa's curve as a parabola: 2^f - 1 - f is about -0.337 f (1 - f).
// With g the distance of 8 y from the nearest multiple of 8, f (1 - f) = g / 8 - g^2 / 64 on either side of it, and
// codes count eighths.
constexpr float units_per_octave = 8.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }
__device__ __forceinline__ float weight_offset(float row_max) { return 120.0f - row_max; }

//% if score_type == 'f32'
__device__ __forceinline__ float weight(float score, float scale, float offset, int) {
  const float line = fmaxf(fmaf(score, scale, offset), 0.0f);
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
__device__ __forceinline__ f16x2 weight(f16x2 scores, f16x2 scale, f16x2 offset, int) {
  const f16x2 line = max_f16x2(fma_f16x2(scores, scale, offset), 0u);
  const f16x2 nearest_octave =
      subtract_f16x2(add_f16x2(line, 0x70007000u), 0x70007000u);  // 2^13: f16 values there are 8 apart
  const f16x2 g = subtract_f16x2(line, nearest_octave) & 0x7fff7fffu;
  const f16x2 bend = fma_f16x2(g, twice_f16(0.0421487f), twice_f16(-0.3371894f));
  return add_f16x2(fma_f16x2(g, bend, line), 0x64006400u);  // 2^10: the code is in the low byte
}
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23) { return pick_bytes<0x6420>(w01, w23); }
//% end

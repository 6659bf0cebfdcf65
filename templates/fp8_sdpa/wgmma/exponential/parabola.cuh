#pragma once
// From the line 8 y + 56 to the code of 2^y: 2^f - 1 - f is about -0.337 f (1 - f), and with g the distance of the line
// from the nearest multiple of 8, f (1 - f) = g / 8 - g^2 / 64 on either side of it. Codes count eighths.
__device__ __forceinline__ float code_by_parabola(float line) {
  line = fmaxf(line, 0.0f);
  const float nearest_octave =
      __fadd_rn(__fadd_rn(line, 100663296.0f), -100663296.0f);  // 1.5 * 2^26: f32 values there are 8 apart
  const float g = fabsf(line - nearest_octave);
  return fmaf(g, fmaf(g, 0.0421487f, -0.3371894f), line) + 8388608.0f;  // 2^23: the code is in the low byte
}
__device__ __forceinline__ f16x2 code_by_parabola(f16x2 line) {
  line = max_f16x2(line, 0u);
  const f16x2 nearest_octave =
      subtract_f16x2(add_f16x2(line, 0x70007000u), 0x70007000u);  // 2^13: f16 values there are 8 apart
  const f16x2 g = subtract_f16x2(line, nearest_octave) & 0x7fff7fffu;
  const f16x2 bend = fma_f16x2(g, twice_f16(0.0421487f), twice_f16(-0.3371894f));
  return add_f16x2(fma_f16x2(g, bend, line), 0x64006400u);  // 2^10: the code is in the low byte
}

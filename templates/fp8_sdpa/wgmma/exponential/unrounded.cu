//% let logarithms = score_type == 'f32' ? 'f16x2 logarithms' : 'f16x2 scores, f16x2 scale, f16x2 offset'
//% let given = score_type == 'f32' ? 'logarithms' : 'scores, scale, offset'
//% if score_type == 'f32'
// The row's maximum is not rounded. The logarithms of two weights at once become f16.
//% else
// The row's maximum as precise as an f16 offset can be: the maximum is what the rounded offset makes of it, so that what
// is accumulated shrinks by exactly as much as the weights do.
//% end
//% if fma_percent == 0
// Weights on the multi-function unit, two f16 at once.
//% else
// ${fma_percent} % of the weights on the FMA pipe (${fma_weight}), the others on the multi-function unit; both are right in the mean.
//% end
constexpr float units_per_octave = 1.0f;
//% if code_by == 'converter'
constexpr float top = 8.0f;  // log2 of the largest weight
//% else
constexpr float top = 0.0f;  // log2 of the largest weight, before its code makes it 2^8
//% end
__device__ __forceinline__ float weight_offset(float row_max) { return top - row_max; }
//% if score_type == 'f32'
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
//% end

//% if fma_percent > 0
// Whether the weights of this operand register take the FMA pipe. Even ones belong to `row`, odd ones to `row + 8`: the
// same share of either.
__device__ __forceinline__ constexpr bool on_fma_pipe(int reg) {
  const int i = reg / 2 + reg % 2;
  return (i + 1) * ${fma_percent} / 100 != i * ${fma_percent} / 100;
}

__device__ __forceinline__ f16x2 fma_relu_f16x2(f16x2 a, f16x2 b, f16x2 c) {
  f16x2 d;
  asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// first + 64 times the logarithm, rounded to integers, 0 where that is negative. The bits of a subnormal f16 are an
// integer, and up to 2047 those behind them, too.
__device__ __forceinline__ u32 steps_of_octaves(${logarithms}, float first) {
  const f16x2 factor = twice_f16(64.0f);
//%   if score_type == 'f32'
  const f16x2 sum = fma_f16x2(logarithms, factor, twice_f16(first));
//%   else
  const f16x2 sum = fma_f16x2(scores, multiply_f16x2(scale, factor), fma_f16x2(offset, factor, twice_f16(first)));
//%   end
  return fma_relu_f16x2(sum, 0x00010001u, 0u);
}

//%   if fma_weight == 'lines'
// Two lines for half of the logarithm each, half an octave apart: where one errs most the other errs least. Their
// product errs by 2 % at most, 0.9 % in the mean square, and is right in the mean.
__device__ __forceinline__ f16x2 weight_by_fma(${logarithms}) {
//%     if code_by == 'converter'
  const u32 half = steps_of_octaves(${given}, 768.0f) * 8;  // of -12 octaves: 0
  return multiply_f16x2(half + 0x24c524c5u, half + 0x22c522c5u);         // 1024 * (15 - 6 + 0.193) and 1/2 less
//%     else
  const u32 half = steps_of_octaves(${given}, 1280.0f) * 8;  // of -20 octaves: 0
  return multiply_f16x2(half + 0x14c514c5u, half + 0x12c512c5u);          // 1024 * (15 - 10 + 0.193) and 1/2 less
//%     end
}
//%   else
// f16 bits count the logarithm, 1024 an octave, but for the mantissa's curve: a line up to 6 % too high. What is rounded
// to e4m3 afterwards has that type's subnormals.
__device__ __forceinline__ f16x2 weight_by_fma(${logarithms}) {
//%     if fma_weight == 'line'
  // 64 * 15 less the line's mean error, all but 0.7: with those the largest weight might not be rounded to 2^8.
  return steps_of_octaves(${given}, 957.0f) * 16;
//%     else
  const u32 line = steps_of_octaves(${given}, 960.0f) * 16;  // 64 * 15
  const f16x2 mantissa = (line & 0x03ff03ffu) | 0x3c003c00u;  // m, 1 to 2
  // 2^(m - 1) / m, relative error 0.35 %
  const f16x2 slope = fma_f16x2(mantissa, twice_f16(0.2337055f), twice_f16(-0.6942066f));
  return multiply_f16x2(line, fma_f16x2(mantissa, slope, twice_f16(1.4570488f)));
//%     end
}
//%   end

//% end
__device__ __forceinline__ f16x2 weight(${logarithms}, int reg) {
//% if fma_percent > 0
  if (on_fma_pipe(reg)) return weight_by_fma(${given});
//% end
  return exp2_approximate(${score_type == 'f32' ? 'logarithms' : 'fma_f16x2(scores, scale, offset)'});
}
//% if code_by == 'converter'
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int) {
  return join(e4m3x2_from_f16x2(w01), e4m3x2_from_f16x2(w23));
}
//% else
// Eight octaves below its value an f16 has the e4m3 code in the eight bits behind its sign and the first of its exponent,
// which is 0; subnormals too. Half of the last one is added to round.
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int) {
  return pick_bytes<0x7531>(w01 * 2 + 0x00800080u, w23 * 2 + 0x00800080u);
}
//% end

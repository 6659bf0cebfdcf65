//% if weigh_type == 'f32'
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
//% if weigh_type == 'f32'
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
//% end

//% if fma_percent > 0
// Whether the weights of this operand register take the FMA pipe. Even ones belong to `row`, odd ones to `row + 8`: the
// same share of either.
__device__ __forceinline__ constexpr bool on_fma_pipe(int reg) {
  const int i = reg / 2 + reg % 2;
  return (i + 1) * ${fma_percent} / 100 != i * ${fma_percent} / 100;
}

// What makes integers of logarithms: 64 an octave, from first_step on.
constexpr f16x2 octave_steps = 0x54005400u;  // 64
//%   if fma_weight == 'lines'
//%     if code_by == 'converter'
constexpr f16x2 first_step = 0x62006200u;  // 768: 0 is 2^-12
//%     else
constexpr f16x2 first_step = 0x65006500u;  // 1280: 0 is 2^-20
//%     end
//%   elif fma_weight == 'line'
constexpr f16x2 first_step = 0x637a637au;  // 957: f16's 64 * 15, less the line's mean error of 3.7, all but 0.7: with
                                           // those the largest weight might not be rounded to 2^8
//%   else
constexpr f16x2 first_step = 0x63806380u;  // 960: f16's 64 * 15
//%   end

// Rounded, 0 where they are negative. The bits of a subnormal f16 are an integer, and up to 2047 those behind them, too.
__device__ __forceinline__ u32 integers_of(f16x2 steps) {
  u32 integers;
  asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(integers) : "r"(steps), "r"(0x00010001u), "r"(0u));
  return integers;
}

//%   if fma_weight == 'lines'
// Two lines for half of the logarithm each, half an octave apart: where one errs most the other errs least. Their
// product errs by 2 % at most, 0.9 % in the mean square, and is right in the mean.
//%     if code_by == 'converter'
constexpr u32 higher_line = 0x24c524c5u;  // 1024 * (15 - 6 + 0.193)
//%     else
constexpr u32 higher_line = 0x14c514c5u;  // 1024 * (15 - 10 + 0.193)
//%     end
__device__ __forceinline__ f16x2 weight_of_steps(f16x2 steps) {
  u32 higher;  // One instruction; `* 8 +` makes a shift and an addition for either line.
  asm("mad.lo.u32 %0, %1, 8, %2;" : "=r"(higher) : "r"(integers_of(steps)), "r"(higher_line));
  return multiply_f16x2(higher, higher - 0x02000200u);  // 1/2 less
}
//%   elif fma_weight == 'line'
// f16 bits count the logarithm, 1024 an octave, but for the mantissa's curve: a line up to 6 % too high. What is rounded
// to e4m3 afterwards has that type's subnormals.
__device__ __forceinline__ f16x2 weight_of_steps(f16x2 steps) { return integers_of(steps) * 16; }
//%   else
// f16 bits count the logarithm, 1024 an octave, but for the mantissa's curve. With m, 1 to 2, the mantissa, the line
// errs by the factor m / 2^(m - 1), of which a parabola is the inverse but for 0.35 %.
__device__ __forceinline__ f16x2 weight_of_steps(f16x2 steps) {
  const u32 line = integers_of(steps) * 16;
  const f16x2 m = (line & 0x03ff03ffu) | 0x3c003c00u;
  const f16x2 slope = fma_f16x2(m, 0x337b337bu, 0xb98eb98eu);               // 0.2337 m - 0.6943
  return multiply_f16x2(line, fma_f16x2(m, slope, 0x3dd43dd4u));  // m slope + 1.457
}
//%   end

//% end
//% if weigh_type == 'f32'
__device__ __forceinline__ f16x2 weight(f16x2 logarithms, int reg) {
//%   if fma_percent > 0
  if (on_fma_pipe(reg)) return weight_of_steps(fma_f16x2(logarithms, octave_steps, first_step));
//%   end
  return exp2_approximate(logarithms);
}
//% else
// What makes logarithms of a row's scores.
struct RowLogarithm {
  f16x2 scale;
  f16x2 offset;
//%   if fma_percent > 0
  f16x2 scale_in_steps;
  f16x2 offset_in_steps;
//%   end

  __device__ __forceinline__ RowLogarithm(float row_scale, float row_max)
      : scale(twice_f16(row_scale)), offset(twice_f16(weight_offset(row_max))) {
//%   if fma_percent > 0
    scale_in_steps = multiply_f16x2(scale, octave_steps);
    offset_in_steps = fma_f16x2(offset, octave_steps, first_step);
//%   end
  }
};

__device__ __forceinline__ f16x2 weight(f16x2 scores, const RowLogarithm& row, int reg) {
//%   if fma_percent > 0
  if (on_fma_pipe(reg)) return weight_of_steps(fma_f16x2(scores, row.scale_in_steps, row.offset_in_steps));
//%   end
  return exp2_approximate(fma_f16x2(scores, row.scale, row.offset));
}
//% end
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

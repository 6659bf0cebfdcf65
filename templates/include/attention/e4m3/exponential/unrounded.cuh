#pragma once
// The row's maximum is not rounded: the largest weight is 2^8 exactly, in its code and in the row's sum. Logarithms of two
// weights are f16 at once: of f32 scores each, or of two f16 scores less the largest, which is exact near it.
// ${fma_percent} % of the weights are on the FMA pipe (${fma_weight}), the others on the multi-function unit; both are right in the mean.
enum class FmaWeight { line, lines, parabola };
constexpr FmaWeight fma_weight = FmaWeight::${fma_weight};
constexpr int fma_percent = ${fma_percent};
constexpr bool converts = ${code_by == 'converter'};  // else codes are made of f16 bits, eight octaves below their value

constexpr float units_per_octave = 1.0f;
constexpr float top = converts ? 8.0f : 0.0f;  // log2 of the largest weight, before its code makes it 2^8
__device__ __forceinline__ float weight_offset(float row_max) { return top - row_max; }
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }

// Of f16 scores, both rows at once: `row` in the low half, `row + 8` in the high one.
__device__ __forceinline__ f16x2 highest_of_rows(const f16x2 (&highest)[2]) {
  return max_f16x2(pick_bytes<0x5410>(highest[0], highest[1]), pick_bytes<0x7632>(highest[0], highest[1]));
}
// Whether one of two f16 values is not within 0 to its limit: the bits of the others are larger integers.
__device__ __forceinline__ bool beyond(f16x2 values, f16x2 limits) {
  u32 larger;
  asm("max.u16x2 %0, %1, %2;" : "=r"(larger) : "r"(values), "r"(limits));
  return larger != limits;
}
template <typename Scale>
__device__ __forceinline__ void find_pair_max(float (&tile_max)[2], const f16x2 (&highest)[2], const Scale& scale) {
  f16x2 rows = highest_of_rows(highest);
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2) rows = max_f16x2(rows, __shfl_xor_sync(0xffffffffu, rows, lanes));
  tile_max[0] = first_of(rows) * scale[0];
  tile_max[1] = second_of(rows) * scale[1];
}

// Whether the weights of this operand register take the FMA pipe. Even ones belong to `row`, odd ones to `row + 8`: the
// same share of either.
__device__ __forceinline__ constexpr bool on_fma_pipe(int reg) {
  const int i = reg / 2 + reg % 2;
  return (i + 1) * fma_percent / 100 != i * fma_percent / 100;
}

// What makes integers of logarithms: 64 an octave, from first_step on. Of two lines: 768, so that 0 is 2^-12, or 1280 and
// 2^-20. Else f16's 64 * 15; of one line less its mean error of 3.7, all but 0.7: with those the largest weight might not
// be rounded to 2^8.
constexpr f16x2 octave_steps = 0x54005400u;  // 64
constexpr int first_step = fma_weight == FmaWeight::lines  ? (converts ? 768 : 1280)
                           : fma_weight == FmaWeight::line ? 957
                                                           : 960;
constexpr int top_step = first_step + 64 * static_cast<int>(top);
// Two f16 of an integer from 1 to 2047.
constexpr f16x2 twice_integer(int value) {
  int exponent = 0;
  while (2 << exponent <= value) ++exponent;
  return static_cast<u32>((15 + exponent) << 10 | (value << (10 - exponent) & 0x3ff)) * 0x10001u;
}
constexpr f16x2 first_step_twice = twice_integer(first_step);
constexpr f16x2 top_step_twice = twice_integer(top_step);

// Rounded, 0 where they are negative. The bits of a subnormal f16 are an integer, and up to 2047 those behind them, too.
__device__ __forceinline__ u32 integers_of(f16x2 steps) {
  u32 integers;
  asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(integers) : "r"(steps), "r"(0x00010001u), "r"(0u));
  return integers;
}

// f16 bits count the logarithm, 1024 an octave, but for the mantissa's curve: a line up to 6 % too high. What is rounded
// to e4m3 afterwards has that type's subnormals.
__device__ __forceinline__ f16x2 weight_by_line(f16x2 steps) { return integers_of(steps) * 16; }

// Two lines for half of the logarithm each, half an octave apart: where one errs most the other errs least. Their
// product errs by 2 % at most, 0.9 % in the mean square, and is right in the mean.
__device__ __forceinline__ f16x2 weight_by_lines(f16x2 steps) {
  constexpr u32 higher_line = converts ? 0x24c524c5u : 0x14c514c5u;  // 1024 * (15 - 6 + 0.193), 1024 * (15 - 10 + 0.193)
  u32 higher;  // One instruction; `* 8 +` makes a shift and an addition for either line.
  asm("mad.lo.u32 %0, %1, 8, %2;" : "=r"(higher) : "r"(integers_of(steps)), "r"(higher_line));
  return multiply_f16x2(higher, higher - 0x02000200u);  // 1/2 less
}

// With m, 1 to 2, the mantissa, the line errs by the factor m / 2^(m - 1), of which a parabola is the inverse but for 0.46 %.
// It is exact at whole octaves, as the row's largest weight is: all others may be equal to it.
__device__ __forceinline__ f16x2 weight_by_parabola(f16x2 steps) {
  const u32 line = integers_of(steps) * 16;
  const f16x2 m = select_bits(0x03ff03ffu, line, 0x3c003c00u);
  const f16x2 slope = fma_f16x2(m, 0x33ec33ecu, 0xb9e7b9e7u);               // 0.2476 m - 0.7378
  return multiply_f16x2(line, fma_f16x2(m, slope, 0x3df63df6u));  // m slope + 1.490
}

__device__ __forceinline__ f16x2 weight_of_steps(f16x2 steps) {
  if constexpr (fma_weight == FmaWeight::line) return weight_by_line(steps);
  if constexpr (fma_weight == FmaWeight::lines) return weight_by_lines(steps);
  if constexpr (fma_weight == FmaWeight::parabola) return weight_by_parabola(steps);
}

// Of two f32 scores.
__device__ __forceinline__ f16x2 weight(f16x2 logarithms, int reg) {
  if (on_fma_pipe(reg)) return weight_of_steps(fma_f16x2(logarithms, octave_steps, first_step_twice));
  return exp2_approximate(logarithms);
}

// What makes scores, as they are, differences from the maximum. Scaled, it gives back the score that it is, an f16 value;
// that of a row which sees no key yet stays finite, so that masked scores are minus infinity.
__device__ __forceinline__ float less_highest(float row_max, float scale) {
  return fminf(row_max * -reciprocal(scale), 65504.0f);
}
// Octaves, 8 at most where the maximum is within 0 to 16: as f16 off by 2^-9 at most, alike for all of a row, so that the
// largest weight is still 2^8.
__device__ __forceinline__ float f16_offset(float row_max, float scale) {
  if constexpr (scales_at_once) return top - row_max;
  if constexpr (!scales_at_once) return less_highest(row_max, scale);
}

// What makes logarithms of a row's f16 scores, in octaves and in the FMA pipe's steps.
struct RowLogarithm {
  f16x2 less_highest;
  f16x2 scale;
  f16x2 offset;
  f16x2 scale_in_steps;
  f16x2 offset_in_steps;

  __device__ __forceinline__ RowLogarithm(float row_scale, float row_offset) : scale(twice_f16(row_scale)) {
    if constexpr (scales_at_once) {
      offset = twice_f16(row_offset);
      offset_in_steps = twice_f16(fmaf(64.0f, row_offset, first_step));
    } else {
      less_highest = twice_f16(row_offset);
      offset = twice_f16(top);
      offset_in_steps = top_step_twice;
    }
    if constexpr (fma_percent > 0) scale_in_steps = multiply_f16x2(scale, octave_steps);
  }
};
// Of `row` and `row + 8`.
struct RowLogarithms {
  RowLogarithm rows[2];

  template <typename Scale>
  __device__ __forceinline__ RowLogarithms(const Scale& scale, const float (&offset)[2])
      : rows{{scale[0], offset[0]}, {scale[1], offset[1]}} {}
  __device__ __forceinline__ const RowLogarithm& operator[](int r) const { return rows[r]; }
};

__device__ __forceinline__ f16x2 weight(f16x2 scores, const RowLogarithm& row, int reg) {
  if constexpr (!scales_at_once) scores = add_f16x2(scores, row.less_highest);
  if (on_fma_pipe(reg)) return weight_of_steps(fma_f16x2(scores, row.scale_in_steps, row.offset_in_steps));
  return exp2_approximate(fma_f16x2(scores, row.scale, row.offset));
}

// Eight octaves below its value an f16 has the e4m3 code in the eight bits behind its sign and the first of its exponent,
// which is 0; subnormals too. Half of the last one is added to round.
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int) {
  if constexpr (converts) return join(e4m3x2_from_f16x2(w01), e4m3x2_from_f16x2(w23));
  if constexpr (!converts) return pick_bytes<0x7531>(w01 * 2 + 0x00800080u, w23 * 2 + 0x00800080u);
}

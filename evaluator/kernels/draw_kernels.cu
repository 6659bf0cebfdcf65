// Kernels of this program's own (device_drawer.h): they draw inputs, bit for bit as the host does. What stands before
// this text names dtypes, distributions and steps by numbers (device_judge.cpp).

// ---- Numbers

/// A double whose operations are rounded one by one: none becomes part of an fma.
struct Exact {
  double value;
  __device__ explicit Exact(double of) : value(of) {}
};
__device__ inline Exact operator+(Exact a, Exact b) {
  return Exact(__dadd_rn(a.value, b.value));
}
__device__ inline Exact operator-(Exact a, Exact b) {
  return Exact(__dsub_rn(a.value, b.value));
}
__device__ inline Exact operator*(Exact a, Exact b) {
  return Exact(__dmul_rn(a.value, b.value));
}
__device__ inline Exact operator/(Exact a, Exact b) {
  return Exact(__ddiv_rn(a.value, b.value));
}
__device__ inline bool operator>(Exact a, Exact b) {
  return a.value > b.value;
}
__device__ inline u64 bits_of(Exact x) {
  return __double_as_longlong(x.value);
}
template <class Real>
__device__ Real real_of_bits(u64 bits) {
  return Real(__longlong_as_double(bits));
}
__device__ inline Exact root(Exact x) {
  return Exact(__dsqrt_rn(x.value));
}

#define EVO_EACH __device__ inline
#define EVO_UNROLL _Pragma("unroll")
#include "evaluator/base/counter_random.cuh"

// ---- Inputs, as regime_values.cpp draws them

struct Drawing {
  u64 elements, row, matrix, group, stream, seed;
  u64 distinct;  ///< Elements that differ; those that follow repeat them.
  double gain, largest;
  float far;
  int distribution, dtype, steps, axes;
};

enum Purpose { kValue, kChoice, kRow };

__device__ PhiloxWords words_of(const Drawing& input, Purpose purpose, u64 block) {
  return philox_words(input.stream, {{(u32)block, (u32)(block >> 32), (u32)purpose, 0}});
}
__device__ u32 word_of(const Drawing& input, Purpose purpose, u64 index) {
  return words_of(input, purpose, index / 4).word[index % 4];
}
__device__ float normal(double deviation, u32 word) {
  return (float)(Exact(deviation) * normal_quantile<Exact>(word)).value;
}

__device__ float drawn(const Drawing& input, u64 i, u32 value, u32 choice) {
  const int kind = input.distribution;
  const u64 row = i / input.row, rows = input.matrix / input.row;
  const float gain = (float)input.gain;
  if (kind == distribution::max_magnitude) return choice < 0x80000000u ? -gain : gain;
  if (kind == distribution::uniform)
    return (float)(Exact(input.gain) * ((Exact((double)value) + Exact(0.5)) * Exact(1.0 / 4294967296.0))).value;
  const bool begins_as_unit = kind == distribution::outliers || kind == distribution::zero_group ||
                              kind == distribution::spikes || kind == distribution::first_row ||
                              kind == distribution::common_channel || kind == distribution::far_rows;
  const u32 word = kind == distribution::constant_rows ? word_of(input, kRow, row) : value;
  const float begun = normal(begins_as_unit ? 1 : input.gain, word);
  switch (kind) {
    case distribution::outliers:
      return choice < (u32)(1.0 / 256 * 4294967296.0) ? __fmul_rn(begun, gain) : begun;
    case distribution::sparse:
      return choice < (u32)(0.9 * 4294967296.0) ? __fmul_rn(begun, 0.0f) : begun;
    case distribution::zero_group:
      return i < input.group ? 0.0f : begun;
    case distribution::first_row:
      return row % rows == 0 ? __fmul_rn(begun, gain) : begun;
    case distribution::spikes: {
      const u64 matrix = row / rows;
      const bool last = (matrix + input.seed) % 2 == 1;
      const u64 chosen = last ? rows - 1 : word_of(input, kRow, matrix) * rows >> 32;
      return row % rows == chosen ? __fmul_rn(begun, gain) : begun;
    }
    case distribution::common_channel: {
      const u64 column = word_of(input, kRow, row / rows) * input.row >> 32;
      return i % input.row == column ? __fadd_rn(begun, gain) : begun;
    }
    case distribution::far_rows: {
      const u64 side = (row + input.seed) % 4;
      const bool below = side == 0 || (side == 2 && i % input.row < (input.row + 1) / 2);
      return below ? __fsub_rn(begun, input.far) : side == 1 ? __fadd_rn(begun, input.far) : begun;
    }
    default:
      return begun;
  }
}

__device__ u16 f16_of(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
/// Of no NaN.
__device__ u16 bf16_of(float value) {
  const u32 bits = __float_as_uint(value);
  return (u16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// Saturated; a NaN has no sign.
__device__ unsigned char e4m3_of(float value) {
  const u32 bits = __float_as_uint(value), size = bits & 0x7fffffffu;
  const u32 sign = bits >> 24 & 0x80u;
  if (size > 0x7f800000u) return 0x7fu;
  if (size >= 0x43e00000u) return (unsigned char)(sign | 0x7eu);                                       // 448
  if (size < 0x3c800000u) return (unsigned char)(sign | (u32)rintf(__fmul_rn(fabsf(value), 512.0f)));  // 2^-6
  const u32 rounded = size + 0x7ffffu + (size >> 20 & 1);
  return (unsigned char)(sign | ((rounded >> 20) - (120u << 3)));
}
__device__ unsigned char whole_of(float value, double least, double greatest) {
  return (unsigned char)(int)fmin(fmax(rint((double)value), least), greatest);
}

// ---- Steps, as draw_steps.cpp makes them

/// `rows` and `columns`: where its tables begin. A row's factor and addend stand beside each other. A stride of 0: one
/// for all.
struct Step {
  u64 kind, stream;
  double amount, share;
  u64 rows, row_stride, columns, column_stride, matrix_stride;
};

enum StepPurpose { kStepValue, kStepChoice };

__device__ u32 word_of(const Step& step, StepPurpose purpose, u64 index) {
  return philox_words(step.stream, {{(u32)(index / 4), (u32)(index / 4 >> 32), (u32)purpose, 0}}).word[index % 4];
}
/// Whether an element is of the share that is drawn.
__device__ bool is_chosen(const Step& step, u64 element) {
  const Exact even = (Exact((double)word_of(step, kStepChoice, element)) + Exact(0.5)) * Exact(1.0 / 4294967296.0);
  return even.value < step.share;
}

__device__ double of_element(const Step& step, u64 element, u64 column, double of_column, double value) {
  switch ((int)step.kind) {
    case step::outliers:
      return is_chosen(step, element) ? __dmul_rn(value, step.amount) : value;
    case step::zeros:
      return is_chosen(step, element) ? 0.0 : value;
    case step::scale_columns:
    case step::growing_columns:
      return __dmul_rn(value, of_column);
    case step::shift_columns:
      return __dadd_rn(value, of_column);
    case step::constant_columns:
    case step::ascending:
      return of_column;
    case step::positive:
      return fabs(value);
    case step::negative:
      return -fabs(value);
    case step::alternating:
      return column % 2 == 0 ? fabs(value) : -fabs(value);
    case step::rounded:
      return __dmul_rn(rint(__ddiv_rn(value, step.amount)), step.amount);
    case step::like:
      return normal_quantile<Exact>(word_of(step, kStepValue, element)).value;
    default:
      return value;
  }
}

__device__ float stepped(const Drawing& input, const Step* steps, const double* tables, u64 i, float value) {
  const u64 row = i / input.row, column = i - row * input.row, rows = input.matrix / input.row;
  const u64 matrix = row / (rows > 0 ? rows : 1);
  for (int s = 0; s < input.steps; ++s) {
    const Step& step = steps[s];
    const double* whole = tables + step.rows + 2 * row * step.row_stride;
    const double of_column = tables[step.columns + column * step.column_stride + matrix * step.matrix_stride];
    const double begun = __dadd_rn(__dmul_rn(whole[0], (double)value), whole[1]);
    const double made = of_element(step, i, column, of_column, begun);
    // No step leaves smaller numbers but 0.
    value = fabs(made) < 1.0 / 1099511627776.0 ? 0.0f
            : made != made                     ? (float)made
                                               : (float)fmin(fmax(made, -input.largest), input.largest);
  }
  return value;
}

// ---- Kernels

/// visit(element, its value), four elements that follow one another by a thread at a time.
template <class Visit>
__device__ void visit_values(const Drawing& input, const Step* steps, const double* tables, Visit visit) {
  const bool chooses = input.distribution == distribution::outliers || input.distribution == distribution::sparse ||
                       input.distribution == distribution::max_magnitude;
  for (u64 block = blockIdx.x * (u64)blockDim.x + threadIdx.x; block * 4 < input.elements;
       block += (u64)gridDim.x * blockDim.x) {
    const u64 like = block % ((input.distinct + 3) / 4);
    const PhiloxWords values = words_of(input, kValue, like);
    const PhiloxWords choices = chooses ? words_of(input, kChoice, like) : values;
    for (int lane = 0; lane < 4 && block * 4 + lane < input.elements; ++lane) {
      const u64 i = like * 4 + lane;
      visit(block * 4 + lane, stepped(input, steps, tables, i, drawn(input, i, values.word[lane], choices.word[lane])));
    }
  }
}

/// A dimension of a tensor with scales, as ScaleGroups has it.
struct Axis {
  u64 step, dim, length, scale_step;
};
__device__ u64 group_of(const Axis* axes, int count, u64 element) {
  u64 group = 0;
  for (int i = 0; i < count; ++i) group += element / axes[i].step % axes[i].dim / axes[i].length * axes[i].scale_step;
  return group;
}

extern "C" __global__ void evo_draw(void* to, const Step* steps, const double* tables, Drawing input) {
  visit_values(input, steps, tables, [&](u64 i, float value) {
    if (input.dtype == dtype::f32)
      ((float*)to)[i] = value;
    else
      ((u16*)to)[i] = input.dtype == dtype::f16 ? f16_of(value) : bf16_of(value);
  });
}

/// The largest magnitude of each group of values, as the bits of a float. They begin as 0.
extern "C" __global__ void evo_largest(u32* largest, const Axis* axes, const Step* steps, const double* tables,
                                       Drawing input) {
  u64 group = ~0ull;
  u32 most = 0;
  visit_values(input, steps, tables, [&](u64 i, float value) {
    const u64 now = group_of(axes, input.axes, i);
    if (now != group && group != ~0ull) {
      atomicMax(largest + group, most);
      most = 0;
    }
    group = now;
    if (value == value) most = max(most, __float_as_uint(value) & 0x7fffffffu);
  });
  if (group != ~0ull) atomicMax(largest + group, most);
}

extern "C" __global__ void evo_encode(unsigned char* to, const float* scales, const Axis* axes, const Step* steps,
                                      const double* tables, Drawing input) {
  visit_values(input, steps, tables, [&](u64 i, float value) {
    const float ratio = __fdiv_rn(value, scales[group_of(axes, input.axes, i)]);
    to[i] = input.dtype == dtype::e4m3 ? e4m3_of(ratio)
            : input.dtype == dtype::s8 ? whole_of(ratio, -128, 127)
                                       : whole_of(__fadd_rn(127.5f, __fmul_rn(ratio, 255.0f / 896.0f)), 0, 255);
  });
}

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

__device__ float small_float(u32 bits, int exponent_bits, int fraction_bits, int bias) {
  const u32 exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1),
            fraction = bits & ((1u << fraction_bits) - 1);
  const float unit = __uint_as_float((u32)(127 + (exponent == 0 ? 1 : exponent) - bias - fraction_bits) << 23);
  const float size = (float)(exponent == 0 ? fraction : fraction | 1u << fraction_bits) * unit;
  return bits >> (exponent_bits + fraction_bits) & 1 ? -size : size;
}
/// Of a format with infinities and NaNs, which have the largest exponent.
__device__ float ieee_float(u32 bits, int exponent_bits, int fraction_bits) {
  const u32 largest = (1u << exponent_bits) - 1, fraction = bits & ((1u << fraction_bits) - 1);
  if ((bits >> fraction_bits & largest) < largest)
    return small_float(bits, exponent_bits, fraction_bits, (int)(largest / 2));
  return __uint_as_float(fraction != 0 ? 0x7fffffffu : bits >> (exponent_bits + fraction_bits) << 31 | 0x7f800000u);
}

/// A float of 32 bits or fewer.
__device__ float float_of(int type, u32 raw) {
  switch (type) {
    case dtype::bf16:
      return __uint_as_float(raw << 16);
    case dtype::f16:
      return ieee_float(raw, 5, 10);
    case dtype::e4m3:
      return (raw & 0x7fu) == 0x7fu ? __uint_as_float(0x7fffffffu) : small_float(raw, 4, 3, 7);
    case dtype::e5m2:
      return ieee_float(raw, 5, 2);
    default:
      return __uint_as_float(raw);
  }
}

__device__ int size_of(int type) {
  return type == dtype::f64 || type == dtype::s64 || type == dtype::u64                          ? 8
         : type == dtype::f32 || type == dtype::s32 || type == dtype::u32                        ? 4
         : type == dtype::f16 || type == dtype::bf16 || type == dtype::s16 || type == dtype::u16 ? 2
                                                                                                 : 1;
}
__device__ void store_raw(void* array, u64 i, int size, u64 raw) {
  if (size == 8)
    ((u64*)array)[i] = raw;
  else if (size == 4)
    ((u32*)array)[i] = (u32)raw;
  else if (size == 2)
    ((u16*)array)[i] = (u16)raw;
  else
    ((unsigned char*)array)[i] = (unsigned char)raw;
}

// ---- Inputs, as regime_values.cpp draws them

struct Drawing {
  u64 elements, row, matrix, group, stream, seed;
  u64 distinct;     ///< Elements that differ; those that follow repeat them.
  u64 row_factors;  ///< Where the table of log_normal_rows begins.
  double gain, largest;
  float far;
  int distribution, dtype, stored_dtype, lesser, steps, axes;
};

enum Purpose { kValue, kChoice, kRow, kLowBits };

__device__ PhiloxWords words_of(const Drawing& input, Purpose purpose, u64 block) {
  return philox_words(input.stream, {{(u32)block, (u32)(block >> 32), (u32)purpose, 0}});
}
__device__ u32 word_of(const Drawing& input, Purpose purpose, u64 index) {
  return words_of(input, purpose, index / 4).word[index % 4];
}
__device__ float normal(double deviation, u32 word) {
  return (float)(Exact(deviation) * normal_quantile<Exact>(word)).value;
}

/// Without the divisors of decimal fractions and of the numbers of codes.
__device__ u64 odd_number(u64 below, u32 word) {
  u64 odd = word % below | 1u;
  while (odd % 3 == 0 || odd % 5 == 0 || odd % 7 == 0 || odd % 17 == 0 || odd % 127 == 0) odd -= 2;
  return odd;
}
/// Halves of odd numbers, or the largest value of a row.
__device__ float tie(const Drawing& input, u64 i, u32 word) {
  const u64 kind = (i / input.row + input.seed) % 4;
  const double most = kind == 1 ? fmin(7.0, input.gain) : kind == 2 ? fmin(15.0, input.gain) : input.gain;
  const double half = (double)odd_number((u64)(2 * most), word >> 6) / 2;
  const u32 scale = word >> 3 & 3;
  double size = i % input.row == 0 || (word & 7) == 0 ? most : half * (scale == 0 ? 0.5 : scale == 3 ? 2.0 : 1.0);
  if (size > most) size /= 4;
  return (float)(word >> 5 & 1 ? -size : size);
}

__device__ float drawn(const Drawing& input, const double* tables, u64 i, u32 value, u32 choice) {
  const int kind = input.distribution;
  const u64 row = i / input.row, rows = input.matrix / input.row;
  const float gain = (float)input.gain;
  if (kind == distribution::max_magnitude) return choice < 0x80000000u ? -gain : gain;
  if (kind == distribution::uniform)
    return (float)(Exact(input.gain) * ((Exact((double)value) + Exact(0.5)) * Exact(1.0 / 4294967296.0))).value;
  if (kind == distribution::ties && input.gain > 1)
    return input.lesser ? __uint_as_float((127 - 2 + value % 5) << 23) : tie(input, i, value);
  const bool begins_as_unit = kind == distribution::log_normal_rows || kind == distribution::outliers || kind == distribution::zero_group ||
                              kind == distribution::spikes || kind == distribution::first_row ||
                              kind == distribution::common_channel || kind == distribution::far_rows;
  const u32 word = kind == distribution::constant_rows ? word_of(input, kRow, row) : value;
  const float begun = normal(begins_as_unit ? 1 : input.gain, word);
  switch (kind) {
    case distribution::outliers:
      return choice < (u32)(1.0 / 256 * 4294967296.0) ? __fmul_rn(begun, gain) : begun;
    case distribution::sparse:
      return choice < (u32)(0.9 * 4294967296.0) ? __fmul_rn(begun, 0.0f) : begun;
    case distribution::log_normal_rows:
      return (float)__dmul_rn(begun, tables[input.row_factors + row]);
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
__device__ u16 bf16_of(float value) {
  const u32 bits = __float_as_uint(value);
  return value != value ? 0x7fffu : (u16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
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
__device__ unsigned char e5m2_of(float value) {
  const u32 bits = __float_as_uint(value), size = bits & 0x7fffffffu;
  const u32 sign = bits >> 24 & 0x80u;
  if (size > 0x7f800000u) return 0x7fu;
  if (size >= 0x47600000u) return (unsigned char)(sign | 0x7bu);                                         // 57344
  if (size < 0x38800000u) return (unsigned char)(sign | (u32)rintf(__fmul_rn(fabsf(value), 65536.0f)));  // 2^-14
  const u32 rounded = size + 0xfffffu + (size >> 21 & 1);
  return (unsigned char)(sign | ((rounded >> 21) - (112u << 2)));
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
  u64 rows, row_stride, columns;
};

enum StepPurpose { kStepValue, kStepChoice, kStepRow, kStepColumn };

__device__ u32 word_of(const Step& step, StepPurpose purpose, u64 index) {
  return philox_words(step.stream, {{(u32)(index / 4), (u32)(index / 4 >> 32), (u32)purpose, 0}}).word[index % 4];
}
/// Whether an element is of the share that is drawn.
__device__ bool is_chosen(const Step& step, u64 element) {
  const Exact even = (Exact((double)word_of(step, kStepChoice, element)) + Exact(0.5)) * Exact(1.0 / 4294967296.0);
  return even.value < step.share;
}

__device__ double normal_of(const Step& step, StepPurpose purpose, u64 index) {
  return normal_quantile<Exact>(word_of(step, purpose, index)).value;
}
/// `place`: of the column among those of all matrices.
__device__ double of_column(const Step& step, const double* tables, u64 column, u64 columns, u64 place) {
  switch ((int)step.kind) {
    case step::scale_columns:
      return tables[step.columns + place];
    case step::growing_columns:
      return columns < 2 ? step.amount
                         : __dadd_rn(1, __ddiv_rn(__dmul_rn(__dsub_rn(step.amount, 1), (double)column),
                                                  (double)(columns - 1)));
    case step::shift_columns:
      return __dmul_rn(step.amount, normal_of(step, kStepColumn, place));
    case step::constant_columns:
      return normal_of(step, kStepColumn, place);
    case step::ascending:
      return normal_quantile<Exact>((u32)((column << 32) / columns)).value;
    default:
      return 0;
  }
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
      return normal_of(step, kStepValue, element);
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
    const double by_column = of_column(step, tables, column, input.row, matrix * input.row + column);
    const double begun = __dadd_rn(__dmul_rn(whole[0], (double)value), whole[1]);
    const double made = of_element(step, i, column, by_column, begun);
    // No step leaves smaller numbers but 0.
    value = fabs(made) < 1.0 / 1099511627776.0 ? 0.0f
            : made != made                     ? (float)made
                                               : (float)fmin(fmax(made, -input.largest), input.largest);
  }
  return value;
}

// ---- Kernels

/// visit(element, the one that it repeats, their value), four elements that follow one another by a thread at a time.
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
      const float begun = drawn(input, tables, i, values.word[lane], choices.word[lane]);
      visit(block * 4 + lane, i, stepped(input, steps, tables, i, begun));
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

/// As a format of floats of 32 bits or fewer.
__device__ u32 raw_of(int type, float value) {
  switch (type) {
    case dtype::f16:
      return f16_of(value);
    case dtype::bf16:
      return bf16_of(value);
    case dtype::e4m3:
      return e4m3_of(value);
    case dtype::e5m2:
      return e5m2_of(value);
    default:
      return __float_as_uint(value);
  }
}
/// A double has bits that the float that was drawn lacks.
__device__ u64 with_low_bits(const Drawing& input, u64 i, float value) {
  const Exact share =
      (Exact((double)word_of(input, kLowBits, i)) + Exact(0.5)) * Exact(1.0 / 4294967296.0) - Exact(0.5);
  return bits_of(Exact((double)value) * (Exact(1) + share * Exact(1.0 / 8388608.0)));
}

extern "C" __global__ void evo_draw(void* to, const Step* steps, const double* tables, Drawing input) {
  const int size = size_of(input.stored_dtype);
  visit_values(input, steps, tables, [&](u64 i, u64 like, float value) {
    if (input.dtype == dtype::f64) return store_raw(to, i, size, with_low_bits(input, like, value));
    const u32 raw = raw_of(input.dtype, value);
    if (input.stored_dtype == input.dtype) return store_raw(to, i, size, raw);
    const float rounded = float_of(input.dtype, raw);
    store_raw(to, i, size, size == 8 ? (u64)__double_as_longlong(rounded) : __float_as_uint(rounded));
  });
}

/// The largest magnitude of each group of values, as the bits of a float. They begin as 0.
extern "C" __global__ void evo_largest(u32* largest, const Axis* axes, const Step* steps, const double* tables,
                                       Drawing input) {
  u64 group = ~0ull;
  u32 most = 0;
  visit_values(input, steps, tables, [&](u64 i, u64, float value) {
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
  visit_values(input, steps, tables, [&](u64 i, u64, float value) {
    const float ratio = __fdiv_rn(value, scales[group_of(axes, input.axes, i)]);
    to[i] = input.dtype == dtype::e4m3 ? e4m3_of(ratio)
            : input.dtype == dtype::s8 ? whole_of(ratio, -128, 127)
                                       : whole_of(__fadd_rn(127.5f, __fmul_rn(ratio, 255.0f / 896.0f)), 0, 255);
  });
}

// ---- Inputs that no regime draws, as draws.cpp draws them

struct ElementDraw {
  u64 elements, row, stream, first, count, ties, most_zeros;
  double begin, width;
  int powers, least, most, kind, source, dtype;
};

__device__ u64 random_bits(u64 stream, u64 i, u32 purpose) {
  const PhiloxWords words = philox_words(stream, {{(u32)i, (u32)(i >> 32), purpose, 0}});
  return (u64)words.word[0] << 32 | words.word[1];
}
template <class Real>
__device__ Real normal_of_word(u32 word) {
  return normal_quantile<Real>(word);
}

#include "evaluator/device/element_draws.cuh"

/// A float that a narrower format rounds as it would round the number itself.
__device__ float rounded_to_odd(double value) {
  const float cut = __double2float_rz(value);
  return (double)cut == value ? cut : __uint_as_float(__float_as_uint(cut) | 1);
}

__device__ bool is_float(int type) {
  return type == dtype::f64 || type == dtype::f32 || type == dtype::f16 || type == dtype::bf16 || type == dtype::e4m3 ||
         type == dtype::e5m2;
}
__device__ u64 raw_of(int type, double value) {
  if (type == dtype::f64) return (u64)__double_as_longlong(value);
  return raw_of(type, type == dtype::f16 || type == dtype::bf16 ? rounded_to_odd(value) : (float)value);
}

__device__ u64 raw_element(const ElementDraw& draw, u64 i, int size) {
  if (draw.kind == element::bits)
    return random_bits(draw.stream, i * size / 8, draws_value) >> (i * size % 8 * 8);
  if (draw.kind == element::whole || draw.kind == element::progression) {
    const u64 whole = whole_element(draw, i);
    return is_float(draw.dtype) ? raw_of(draw.dtype, (double)(s64)whole) : whole;
  }
  const double value = real_element<Exact>(draw, i).value;
  if (is_float(draw.dtype)) return raw_of(draw.dtype, value);
  return (u64)(s64)(draw.kind == element::uniform ? floor(value) : rint(value));
}

extern "C" __global__ void evo_draw_elements(void* to, ElementDraw draw) {
  const int size = size_of(draw.dtype);
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < draw.elements; i += (u64)gridDim.x * blockDim.x)
    store_raw(to, i, size, raw_element(draw, i, size));
}

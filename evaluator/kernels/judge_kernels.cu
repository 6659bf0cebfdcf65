// Kernels of this program's own (device_judge.h): they hide the reference's answers, and compare outputs with them.
// What stands before this text names dtypes by numbers (device_judge.cpp).

// ---- Answers

__device__ u64 mixed(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
/// What word number `place` of an answer is hidden by.
__device__ u64 mask(u64 place, u64 key) {
  return mixed(mixed(place + key) ^ key);
}

struct Hiding {
  u64 words, key;
};

extern "C" __global__ void evo_hide(u64* words, Hiding what) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < what.words; i += (u64)gridDim.x * blockDim.x)
    words[i] ^= mask(i, what.key);
}

// ---- Comparison

struct Comparing {
  u64 elements, row;  ///< A row has so many elements; the last one may have fewer.
  u64 key;
  double atol, rtol;
  int got_dtype, want_dtype, exact, elementwise, steps;
  int digits, least_exponent;  ///< Of the format of what was got; 0 digits: it has none.
};

/// An element as a double, and of integers its 64 bits.
struct Element {
  double value;
  s64 whole;
};

__device__ float small_float(u32 bits, int exponent_bits, int fraction_bits, int bias) {
  const u32 exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1),
            fraction = bits & ((1u << fraction_bits) - 1);
  const float unit = __uint_as_float((u32)(127 + (exponent == 0 ? 1 : exponent) - bias - fraction_bits) << 23);
  const float size = (float)(exponent == 0 ? fraction : fraction | 1u << fraction_bits) * unit;
  return bits >> (exponent_bits + fraction_bits) & 1 ? -size : size;
}

/// Whatever is not finite stays so; an infinity may become a NaN.
__device__ Element element_of(int type, u64 raw) {
  const float nan = __uint_as_float(0x7fffffffu);
  switch (type) {
    case dtype::f64:
      return {__longlong_as_double(raw), 0};
    case dtype::f32:
      return {__uint_as_float((u32)raw), 0};
    case dtype::bf16:
      return {__uint_as_float((u32)raw << 16), 0};
    case dtype::f16:
      return {(raw & 0x7c00u) == 0x7c00u ? nan : small_float((u32)raw, 5, 10, 15), 0};
    case dtype::e4m3:
      return {(raw & 0x7fu) == 0x7fu ? nan : small_float((u32)raw, 4, 3, 7), 0};
    case dtype::e5m2:
      return {(raw & 0x7cu) == 0x7cu ? nan : small_float((u32)raw, 5, 2, 15), 0};
    case dtype::s8:
      return {(double)(signed char)raw, (signed char)raw};
    case dtype::s16:
      return {(double)(short)raw, (short)raw};
    case dtype::s32:
      return {(double)(int)raw, (int)raw};
    case dtype::s64:
      return {(double)(s64)raw, (s64)raw};
    default:  // Without a sign.
      return {(double)raw, (s64)raw};
  }
}

__device__ int size_of(int type) {
  return type == dtype::f64 || type == dtype::s64 || type == dtype::u64                          ? 8
         : type == dtype::f32 || type == dtype::s32 || type == dtype::u32                        ? 4
         : type == dtype::f16 || type == dtype::bf16 || type == dtype::s16 || type == dtype::u16 ? 2
                                                                                                 : 1;
}

__device__ u64 raw_of(const void* array, u64 i, int size) {
  return size == 8   ? ((const u64*)array)[i]
         : size == 4 ? ((const u32*)array)[i]
         : size == 2 ? ((const u16*)array)[i]
                     : ((const unsigned char*)array)[i];
}
__device__ u64 hidden_raw_of(const u64* words, u64 i, int size, u64 key) {
  const u64 place = i * size / 8, word = words[place] ^ mask(place, key);
  return size == 8 ? word : word >> (i * size % 8 * 8) & ((1ull << 8 * size) - 1);
}

/// As the host's OutputSums and the sums beside it.
struct Sums {
  double difference_squared, want_squared, got_squared, dot, max_abs, worst_element;
  u64 elements, not_finite, unequal, first_unequal, beyond, first_beyond, off_by_one, further_off, first_further_off;
};

__device__ void note(u64& count, u64& first, u64 i) {
  ++count;
  if (i < first) first = i;
}
__device__ void add(Sums& to, const Sums& other) {
  to.difference_squared += other.difference_squared;
  to.want_squared += other.want_squared;
  to.got_squared += other.got_squared;
  to.dot += other.dot;
  to.max_abs = fmax(to.max_abs, other.max_abs);
  to.worst_element = fmax(to.worst_element, other.worst_element);
  to.elements += other.elements;
  to.not_finite += other.not_finite;
  to.unequal += other.unequal;
  to.first_unequal = min(to.first_unequal, other.first_unequal);
  to.beyond += other.beyond;
  to.first_beyond = min(to.first_beyond, other.first_beyond);
  to.off_by_one += other.off_by_one;
  to.further_off += other.further_off;
  to.first_further_off = min(to.first_further_off, other.first_further_off);
}

/// A float in the format of what was got.
__device__ double rounded(const Comparing& what, double want) {
  switch (what.got_dtype) {
    case dtype::f32:
      return (float)want;
    case dtype::f16:
      return element_of(dtype::f16, f16_of((float)want)).value;
    case dtype::bf16:
      return element_of(dtype::bf16, bf16_of((float)want)).value;
    default:
      return want;
  }
}
__device__ double step_at(const Comparing& what, double value) {
  if (what.digits == 0) return 1;
  const int exponent = (int)((u64)__double_as_longlong(value) >> 52 & 0x7ff) - 1023;
  return __longlong_as_double((u64)(max(exponent, what.least_exponent) - what.digits + 1 + 1023) << 52);
}

__device__ void compare_one(const Comparing& what, u64 i, const Element& got, const Element& want, Sums& sums) {
  const double g = got.value, w = want.value, off = fabs(g - w);
  if (!isfinite(g) || !isfinite(w)) {
    ++sums.not_finite;
    return;
  }
  sums.got_squared += g * g;
  sums.dot += g * w;
  sums.max_abs = fmax(sums.max_abs, off);
  if (what.exact && (g != w || got.whole != want.whole)) note(sums.unequal, sums.first_unequal, i);
  if (what.elementwise && off > 0) {
    const double allowed = __dadd_rn(what.atol, __dmul_rn(what.rtol, fabs(w)));
    sums.worst_element = fmax(sums.worst_element, fmin(__ddiv_rn(off, allowed), 1e30));
    if (!(off <= allowed)) note(sums.beyond, sums.first_beyond, i);
  }
  if (what.steps) {
    const double right = rounded(what, w), steps_off = fabs(g - right);
    if (steps_off == 0) return;
    if (steps_off <= fmax(step_at(what, right), step_at(what, g)))
      ++sums.off_by_one;
    else
      note(sums.further_off, sums.first_further_off, i);
  }
}

constexpr int kWarps = 8;

/// A warp takes a row at a time: which sums are added to which does not depend on the device. `rows` may be null, else
/// it gets ||got - want||^2 and ||want||^2 of each row.
extern "C" __global__ void evo_compare(const void* got, const u64* want, double2* rows, Sums* sums_of_blocks,
                                       Comparing what) {
  __shared__ Sums of_warp[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int got_size = size_of(what.got_dtype), want_size = size_of(what.want_dtype);
  const u64 none = ~0ull, count = (what.elements + what.row - 1) / what.row;
  Sums sums = {};
  sums.first_unequal = sums.first_beyond = sums.first_further_off = none;
  for (u64 row = blockIdx.x * (u64)kWarps + warp; row < count; row += (u64)gridDim.x * kWarps) {
    double error = 0, size = 0;
    const u64 end = min((row + 1) * what.row, what.elements);
    for (u64 i = row * what.row + lane; i < end; i += 32) {
      const Element g = element_of(what.got_dtype, raw_of(got, i, got_size));
      const Element w = element_of(what.want_dtype, hidden_raw_of(want, i, want_size, what.key));
      compare_one(what, i, g, w, sums);
      ++sums.elements;
      error += (g.value - w.value) * (g.value - w.value);
      size += w.value * w.value;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      error += __shfl_xor_sync(0xffffffffu, error, distance);
      size += __shfl_xor_sync(0xffffffffu, size, distance);
    }
    if (lane == 0) {
      sums.difference_squared += error;
      sums.want_squared += size;
      if (rows != nullptr) rows[row] = make_double2(error, size);
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    Sums other;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(Sums) / sizeof(double)); ++i)
      ((double*)&other)[i] = __shfl_down_sync(0xffffffffu, ((double*)&sums)[i], distance);
    if (lane < distance) add(sums, other);
  }
  if (lane == 0) of_warp[warp] = sums;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kWarps; ++i) add(sums, of_warp[i]);
  sums_of_blocks[blockIdx.x] = sums;
}

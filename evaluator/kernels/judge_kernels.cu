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
  int got_dtype, want_dtype, exact, elementwise, steps, change;
  int digits, least_exponent;  ///< Of the format of what was got; 0 digits: it has none.
};

/// An element as a double, and of integers its 64 bits.
struct Element {
  double value;
  s64 whole;
};

__device__ Element element_of(int type, u64 raw) {
  switch (type) {
    case dtype::f64:
      return {__longlong_as_double(raw), 0};
    case dtype::f32:
    case dtype::bf16:
    case dtype::f16:
    case dtype::e4m3:
    case dtype::e5m2:
      return {float_of(type, (u32)raw), 0};
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
  double change_error, change_squared, change_size, largest_step, next_step;
  u64 elements, not_finite, unequal, first_unequal, beyond, first_beyond, off_by_one, further_off, first_further_off;
};

__device__ void note(u64& count, u64& first, u64 i) {
  ++count;
  if (i < first) first = i;
}
/// Single errors of one step are excused: of them the two largest count.
__device__ void note_step(Sums& sums, double squared) {
  sums.next_step = fmax(sums.next_step, fmin(sums.largest_step, squared));
  sums.largest_step = fmax(sums.largest_step, squared);
}
__device__ void add(Sums& to, const Sums& other) {
  to.difference_squared += other.difference_squared;
  to.want_squared += other.want_squared;
  to.got_squared += other.got_squared;
  to.dot += other.dot;
  to.max_abs = fmax(to.max_abs, other.max_abs);
  to.worst_element = fmax(to.worst_element, other.worst_element);
  to.change_error += other.change_error;
  to.change_squared += other.change_squared;
  to.change_size += other.change_size;
  note_step(to, other.largest_step);
  note_step(to, other.next_step);
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

/// As the format of what was got has it.
__device__ double rounded(const Comparing& what, double want) {
  if (what.got_dtype == dtype::f64 || !is_float(what.got_dtype)) return want;
  return float_of(what.got_dtype, (u32)raw_of(what.got_dtype, want));
}
__device__ double step_at(const Comparing& what, double value) {
  if (what.digits == 0) return 1;
  const int exponent = (int)((u64)__double_as_longlong(value) >> 52 & 0x7ff) - 1023;
  return __longlong_as_double((u64)(max(exponent, what.least_exponent) - what.digits + 1 + 1023) << 52);
}

/// Whether elements, of which one is not finite, are the same. A NaN that was never written is none.
__device__ bool are_same(const Comparing& what, double got, u64 raw_got, double want, u64 raw_want) {
  if (!isnan(got)) return got == want || (isinf(got) && got == rounded(what, want));
  const u64 filled = ~0ull >> (64 - 8 * size_of(what.got_dtype));
  return isnan(want) && (raw_got != filled || (what.got_dtype == what.want_dtype && raw_want == filled));
}

__device__ void compare_change(const Comparing& what, double got, double right, double before, Sums& sums) {
  const double moved = right - before, off = got - right;
  if (!isfinite(moved)) return;
  sums.change_error += off * off;
  sums.change_squared += moved * moved;
  sums.change_size += fmax(right * right, before * before);
  if (off != 0 && fabs(off) <= fmax(step_at(what, right), step_at(what, got))) note_step(sums, off * off);
}

/// Of numbers that are finite.
__device__ void compare_one(const Comparing& what, u64 i, const Element& got, const Element& want, Sums& sums) {
  const double g = got.value, w = want.value, off = fabs(g - w);
  sums.got_squared += g * g;
  sums.dot += g * w;
  sums.max_abs = fmax(sums.max_abs, off);
  if (what.exact && (g != w || got.whole != want.whole)) note(sums.unequal, sums.first_unequal, i);
  if (what.elementwise && off > 0) {
    const double allowed = __dadd_rn(what.atol, __dmul_rn(what.rtol, fabs(w)));
    sums.worst_element = fmax(sums.worst_element, fmin(__ddiv_rn(off, allowed), 1e30));
    if (!(off <= allowed)) note(sums.beyond, sums.first_beyond, i);
  }
  const double right = rounded(what, w), steps_off = fabs(g - right);
  if (!what.steps || steps_off == 0) return;
  if (steps_off <= fmax(step_at(what, right), step_at(what, g)))
    ++sums.off_by_one;
  else
    note(sums.further_off, sums.first_further_off, i);
}

constexpr int kWarps = 8;

/// A warp takes a row at a time: which sums are added to which does not depend on the device. `rows` may be null, else
/// it gets ||got - want||^2 and ||want||^2 of each row. `before`: what the output held, where its change counts.
extern "C" __global__ void evo_compare(const void* got, const u64* want, const void* before, double2* rows,
                                       Sums* sums_of_blocks, Comparing what) {
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
      const u64 raw_got = raw_of(got, i, got_size), raw_want = hidden_raw_of(want, i, want_size, what.key);
      Element g = element_of(what.got_dtype, raw_got), w = element_of(what.want_dtype, raw_want);
      ++sums.elements;
      if (!isfinite(g.value) || !isfinite(w.value)) {
        if (!are_same(what, g.value, raw_got, w.value, raw_want)) ++sums.not_finite;
        g = w = {0, 0};
      }
      compare_one(what, i, g, w, sums);
      if (what.change)
        compare_change(what, g.value, rounded(what, w.value),
                       element_of(what.got_dtype, raw_of(before, i, got_size)).value, sums);
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

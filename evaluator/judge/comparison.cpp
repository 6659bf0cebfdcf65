#include "evaluator/judge/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/device/row_norms.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/numbers/float_formats.h"
#include "evaluator/numbers/steps.h"

namespace evo {
namespace {

/// Elements of one chunk of the sums; and of the piece that is widened at a time, which stays in the L1 cache.
constexpr std::uint64_t kComparedChunk = 1 << 17;
constexpr std::uint64_t kPiece = 2048;
/// Independent partial sums, so that the compiler can use vector instructions without reordering a sum.
constexpr std::size_t kSums = 8;

struct Sums {
  double difference_squared = 0;
  double want_squared = 0;
  double got_squared = 0;
  double dot = 0;
  double max_abs = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t first_not_finite = 0;

  /// Of what comes behind.
  void add(const Sums& later) {
    difference_squared += later.difference_squared;
    want_squared += later.want_squared;
    got_squared += later.got_squared;
    dot += later.dot;
    max_abs = std::max(max_abs, later.max_abs);
    if (not_finite == 0) first_not_finite = later.first_not_finite;
    not_finite += later.not_finite;
  }
};

template <typename Bits, typename Convert>
std::vector<float> widening_table(std::size_t size, Convert convert) {
  std::vector<float> table(size);
  for (std::size_t i = 0; i < size; ++i) table[i] = convert(static_cast<Bits>(i));
  return table;
}

const float* f16_table() {
  static const std::vector<float> table = widening_table<std::uint16_t>(65536, f32_from_f16);
  return table.data();
}
const float* e4m3_table() {
  static const std::vector<float> table = widening_table<std::uint8_t>(256, f32_from_e4m3);
  return table.data();
}
const float* e5m2_table() {
  static const std::vector<float> table = widening_table<std::uint8_t>(256, f32_from_e5m2);
  return table.data();
}

template <typename T, typename Convert>
void widen_each(const std::byte* from, std::size_t count, float* to, Convert convert) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = convert(value);
  }
}

/// Sums of one piece; elements that are not finite are counted and left out.
struct PieceSums {
  std::array<double, kSums> difference{}, want{}, got{}, dot{}, max{};

  void add(std::size_t sum, float got_value, float want_value) {
    const double g = got_value, w = want_value, d = g - w;
    difference[sum] += d * d;
    want[sum] += w * w;
    got[sum] += g * g;
    dot[sum] += g * w;
    max[sum] = std::max(max[sum], std::fabs(d));
  }
};

double total(const std::array<double, kSums>& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

[[gnu::always_inline]] inline void add_elements(Sums& sums, const float* got, const float* want, std::size_t count) {
  PieceSums piece;
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::size_t s = 0; s < kSums; ++s) piece.add(s, got[i + s], want[i + s]);
  }
  for (; i < count; ++i) piece.add(0, got[i], want[i]);
  sums.difference_squared += total(piece.difference);
  sums.want_squared += total(piece.want);
  sums.got_squared += total(piece.got);
  sums.dot += total(piece.dot);
  sums.max_abs = std::max(sums.max_abs, *std::ranges::max_element(piece.max));
}

#if defined(__x86_64__)
/// Without FMA, so that sums have the same bits on every machine.
[[gnu::target("avx2")]] void add_with_avx2(Sums& sums, const float* got, const float* want, std::size_t count) {
  add_elements(sums, got, want, count);
}

void add_piece(Sums& sums, const float* got, const float* want, std::size_t count) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  has_avx2 ? add_with_avx2(sums, got, want, count) : add_elements(sums, got, want, count);
}
#else
void add_piece(Sums& sums, const float* got, const float* want, std::size_t count) {
  add_elements(sums, got, want, count);
}
#endif

void count_not_finite(Sums& sums, const float* got, std::size_t count, std::uint64_t offset) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(got[i])) continue;
    if (sums.not_finite++ == 0) sums.first_not_finite = offset + i;
  }
}

Sums sums_of(DType dtype, const std::byte* got, const float* want, std::uint64_t begin, std::uint64_t end) {
  Sums sums;
  std::array<float, kPiece> piece;  // Not cleared: a row is often much shorter.
  for (std::uint64_t at = begin; at < end; at += kPiece) {
    const auto count = static_cast<std::size_t>(std::min(kPiece, end - at));
    widen(dtype, got + bytes_for(dtype, at), count, piece.data());
    count_not_finite(sums, piece.data(), count, at);
    add_piece(sums, piece.data(), want + at, count);
  }
  return sums;
}

Sums total(const std::vector<Sums>& chunks) {
  Sums all;
  for (const Sums& chunk : chunks) all.add(chunk);
  return all;
}

Difference difference_of(const Sums& sums, std::uint64_t count) {
  Difference result;
  result.not_finite = sums.not_finite;
  result.first_not_finite = sums.first_not_finite;
  result.want_rms = std::sqrt(sums.want_squared / static_cast<double>(std::max<std::uint64_t>(count, 1)));
  result.max_abs = finite_error(sums.max_abs);
  if (sums.not_finite > 0) {
    result.relative_l2 = result.max_abs = kIncomparable;
    result.cosine = 0;
  } else if (sums.want_squared == 0 || sums.got_squared == 0) {
    const bool equal = sums.want_squared == sums.got_squared;
    result.relative_l2 = equal ? 0 : (sums.want_squared == 0 ? kIncomparable : 1.0);
    result.cosine = equal ? 1 : 0;
  } else {
    result.relative_l2 = finite_error(std::sqrt(sums.difference_squared / sums.want_squared));
    const double cosine = sums.dot / (std::sqrt(sums.got_squared) * std::sqrt(sums.want_squared));
    result.cosine = std::isfinite(cosine) ? cosine : 0;
  }
  return result;
}

}  // namespace

void widen(DType dtype, const std::byte* from, std::size_t count, float* to) {
  switch (dtype) {
    case DType::f32:
      std::memcpy(to, from, count * sizeof(float));
      break;
    case DType::bf16:
      widen_each<std::uint16_t>(from, count, to, f32_from_bf16);
      break;
    case DType::f16:
      widen_each<std::uint16_t>(from, count, to, [table = f16_table()](std::uint16_t v) { return table[v]; });
      break;
    case DType::e4m3:
      widen_each<std::uint8_t>(from, count, to, [table = e4m3_table()](std::uint8_t v) { return table[v]; });
      break;
    case DType::e5m2:
      widen_each<std::uint8_t>(from, count, to, [table = e5m2_table()](std::uint8_t v) { return table[v]; });
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(as_double(load_at(dtype, from, i)));
  }
}

Difference compare(DType dtype, std::span<const std::byte> got, std::span<const float> want) {
  if (got.size() != bytes_for(dtype, want.size())) {
    throw machine_error(fmt::format("an output has {} bytes where the oracle has {} elements of {}", got.size(),
                                    want.size(), name_of(dtype)));
  }
  std::vector<Sums> chunks((want.size() + kComparedChunk - 1) / kComparedChunk);
  parallel_chunks(want.size(), kComparedChunk, [&](std::uint64_t begin, std::uint64_t end) {
    chunks[begin / kComparedChunk] = sums_of(dtype, got.data(), want.data(), begin, end);
  });
  return difference_of(total(chunks), want.size());
}

namespace {

std::uint64_t count_of(DType dtype, std::size_t bytes) {
  return bytes * 8 / static_cast<std::uint64_t>(bits_of(dtype));
}

/// Reads elements as doubles, which hold those of every dtype but the largest integers of 64 bits.
class Elements {
 public:
  Elements(DType dtype, std::span<const std::byte> bytes) : dtype_(dtype), bytes_(bytes) {}
  void read(std::uint64_t begin, std::size_t count, double* to) const {
    if (dtype_ == DType::f64 || is_integer(dtype_)) {
      for (std::size_t i = 0; i < count; ++i) to[i] = as_double(load_at(dtype_, bytes_.data(), begin + i));
      return;
    }
    std::array<float, kPiece> piece{};
    if (dtype_ == DType::e2m1) {  // Pieces begin at whole bytes only where they begin at even elements.
      for (std::size_t i = 0; i < count; ++i) to[i] = as_double(load_at(dtype_, bytes_.data(), begin + i));
      return;
    }
    widen(dtype_, bytes_.data() + begin * size_of(dtype_), count, piece.data());
    std::copy_n(piece.begin(), count, to);
  }

 private:
  DType dtype_;
  std::span<const std::byte> bytes_;
};

/// visit(i, got[i], want[i]) for `count` elements from `begin` on.
template <typename Visit>
void visit_pairs(const Elements& got, const Elements& want, std::uint64_t begin, std::uint64_t count, Visit visit) {
  std::array<double, kPiece> g{}, w{};
  for (std::uint64_t at = 0; at < count; at += kPiece) {
    const auto size = static_cast<std::size_t>(std::min(kPiece, count - at));
    got.read(begin + at, size, g.data());
    want.read(begin + at, size, w.data());
    for (std::size_t i = 0; i < size; ++i) visit(begin + at + i, g[i], w[i]);
  }
}

/// Of f64 and integers that need not be exact.
Difference compare_wide(const Elements& got, const Elements& want, std::uint64_t count) {
  Sums sums;
  visit_pairs(got, want, 0, count, [&](std::uint64_t i, double g, double w) {
    if (!std::isfinite(g) && sums.not_finite++ == 0) sums.first_not_finite = i;
    const double d = g - w;
    sums.difference_squared += d * d;
    sums.want_squared += w * w;
    sums.got_squared += g * g;
    sums.dot += g * w;
    sums.max_abs = std::max(sums.max_abs, std::fabs(d));
  });
  return difference_of(sums, count);
}

void measure_rows(const Elements& got, const Elements& want, std::uint64_t begin, std::uint64_t end, std::uint64_t row,
                  RowNorms& norms) {
  std::uint64_t number = begin, left = row;
  double error = 0, norm = 0;
  visit_pairs(got, want, begin * row, (end - begin) * row, [&](std::uint64_t, double g, double w) {
    error += (g - w) * (g - w);
    norm += w * w;
    if (--left > 0) return;
    norms.set(number++, error, norm);
    error = norm = 0;
    left = row;
  });
}

/// The same for floats of a whole number of bytes and an oracle of f32, and the sums over all of these rows.
Sums measure_rows(DType dtype, const std::byte* got, const float* want, std::uint64_t begin, std::uint64_t end,
                  std::uint64_t row, RowNorms& norms) {
  Sums all;
  for (std::uint64_t number = begin; number < end; ++number) {
    const Sums sums = sums_of(dtype, got, want, number * row, (number + 1) * row);
    norms.set(number, sums.difference_squared, sums.want_squared);
    all.add(sums);
  }
  return all;
}

void note_rows(const RowNorms& norms, Difference& difference) {
  const RowFindings found = norms.findings();
  difference.row_l2 = found.row_l2;
  difference.worst_row = found.worst_row;
  difference.rows_that_count = found.rows_that_count;
}

/// Rows of one chunk.
std::uint64_t rows_at_once(std::uint64_t row) {
  return std::max<std::uint64_t>(1, kComparedChunk / row);
}

/// As compare() over all elements, and by rows.
Difference compare_in_rows(DType dtype, std::span<const std::byte> got, std::span<const float> want,
                           std::uint64_t row) {
  const std::uint64_t rows = want.size() / row, at_once = rows_at_once(row);
  RowNorms norms(rows);
  std::vector<Sums> chunks((rows + at_once - 1) / at_once);
  parallel_chunks(rows, at_once, [&](std::uint64_t begin, std::uint64_t end) {
    chunks[begin / at_once] = measure_rows(dtype, got.data(), want.data(), begin, end, row, norms);
  });
  Difference difference = difference_of(total(chunks), want.size());
  note_rows(norms, difference);
  return difference;
}

void compare_rows(const Elements& got, const Elements& want, std::uint64_t rows, std::uint64_t row,
                  Difference& difference) {
  RowNorms norms(rows);
  parallel_chunks(rows, rows_at_once(row),
                  [&](std::uint64_t begin, std::uint64_t end) { measure_rows(got, want, begin, end, row, norms); });
  note_rows(norms, difference);
}

void compare_each(const Elements& got, const Elements& want, std::uint64_t count, const Limits& limits,
                  Difference& difference) {
  visit_pairs(got, want, 0, count, [&](std::uint64_t i, double g, double w) {
    const double error = std::fabs(g - w);
    const double allowed = limits.atol + limits.rtol * std::fabs(w);
    // Written so that a NaN is beyond.
    if (error <= std::min(difference.worst_element, 1.0) * allowed) return;
    difference.worst_element = std::max(difference.worst_element, finite_error(error / allowed));
    if (!(error <= allowed) && difference.beyond++ == 0) difference.first_beyond = i;
  });
}

/// Floats that are exact are compared as numbers: -0 is 0.
void compare_exactly(DType dtype, std::span<const std::byte> got, const ExpectedOutput& want, std::uint64_t count,
                     Difference& difference) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Number g = load_at(dtype, got.data(), i), w = load_at(want.dtype, want.bytes.data(), i);
    if (exact(g) == exact(w)) continue;
    if (difference.unequal++ > 0) continue;
    difference.first_unequal = i;
    difference.got = text_of(g);
    difference.reference = text_of(w);
  }
}

void compare_change(DType dtype, const Elements& got, const ExpectedOutput& want, std::uint64_t count,
                    Difference& difference) {
  const Elements wanted(want.dtype, want.bytes), before(want.dtype, want.before);
  OutputSums sums;
  std::array<double, kPiece> b{};
  for (std::uint64_t at = 0; at < count; at += kPiece) {
    const std::uint64_t piece = std::min(kPiece, count - at);
    before.read(at, piece, b.data());
    visit_pairs(got, wanted, at, piece, [&](std::uint64_t i, double g, double w) {
      const double old = b[i - at], right = rounded_to(dtype, w), moved = right - old, off = g - right;
      if (!std::isfinite(moved)) return;
      sums.change_error += off * off;
      sums.change_squared += moved * moved;
      sums.change_size += std::max(right * right, old * old);
      if (off != 0 && std::fabs(off) <= std::max(step_at(dtype, right), step_at(dtype, g))) note_step(sums, off * off);
    });
  }
  difference.change = change_of(dtype, sums);
}

void compare_steps(DType dtype, const Elements& got, const Elements& want, std::uint64_t count,
                   Difference& difference) {
  visit_pairs(got, want, 0, count, [&](std::uint64_t i, double g, double w) {
    const double right = rounded_to(dtype, w), off = std::fabs(g - right);
    if (off == 0) return;
    if (off <= std::max(step_at(dtype, right), step_at(dtype, g)))
      ++difference.off_by_one;
    else if (difference.further_off++ == 0)
      difference.first_further_off = i;
  });
}

/// Of elements that are finite, or else equal numbers.
Difference compare_numbers(DType dtype, std::span<const std::byte> got, const ExpectedOutput& want,
                           const Limits& limits, std::uint64_t row, std::uint64_t count) {
  Difference difference;
  const Elements left(dtype, got), right(want.dtype, want.bytes);
  const bool has_rows = limits.row_l2 > 0 && row > 0 && count > row && count % row == 0;
  const bool floats = want.dtype == DType::f32 && is_floating(dtype) && dtype != DType::f64 && bits_of(dtype) >= 8;
  if (has_rows && floats) {
    difference = compare_in_rows(dtype, got, want.floats(), row);
  } else if (want.dtype == DType::f32) {
    difference = compare(dtype, got, want.floats());
  } else {
    difference = compare_wide(left, right, count);
  }
  if (limits.exact) compare_exactly(dtype, got, want, count, difference);
  if (has_rows && !floats) compare_rows(left, right, count / row, row, difference);
  if (limits.atol > 0 || limits.rtol > 0) compare_each(left, right, count, limits, difference);
  if (limits.change > 0 && !want.before.empty()) compare_change(dtype, left, want, count, difference);
  if (limits.off_by_one > 0) compare_steps(dtype, left, right, count, difference);
  difference.elements = count;
  return difference;
}

/// One element in so many may be infinite beside the greatest number of its format, or the reverse: the last bit
/// decides.
constexpr std::uint64_t kBesideGreatest = 500;

/// NaN for NaN and infinity for infinity are right: both become zero, and the other elements are compared.
Difference compare_with_infinities(DType dtype, std::span<const std::byte> got, const ExpectedOutput& want,
                                   const Limits& limits, std::uint64_t row, std::uint64_t count) {
  std::vector<std::byte> finite_got(got.begin(), got.end());
  ExpectedOutput finite_want = want;
  std::uint64_t different = 0, first = 0,
                beside = limits.exact ? 0 : std::max<std::uint64_t>(2, count / kBesideGreatest);
  std::string first_got, first_want;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Number left = load_at(dtype, got.data(), i), right = load_at(want.dtype, want.bytes.data(), i);
    const double g = as_double(left), w = as_double(right);
    if (std::isfinite(g) && std::isfinite(w)) continue;
    store_at(dtype, finite_got.data(), i, std::int64_t{0});
    store_at(want.dtype, finite_want.bytes.data(), i, std::int64_t{0});
    const bool written = !is_left_as_filled(dtype, got, i, w);
    const bool nan = std::isnan(g) && std::isnan(w) && written;
    if (nan || g == w || (std::isinf(g) && g == rounded_to(dtype, w))) continue;
    if (beside > 0 && is_beside_greatest(dtype, g, w)) {
      --beside;
      continue;
    }
    if (different++ > 0) continue;
    first = i;
    first_got = written ? text_of(dtype, left) : "never written";
    first_want = text_of(want.dtype, right);
  }
  Difference difference = compare_numbers(dtype, finite_got, finite_want, limits, row, count);
  if (different == 0) return difference;
  difference.not_finite = different;
  difference.first_not_finite = first;
  difference.got = first_got;
  difference.reference = first_want;
  difference.relative_l2 = difference.max_abs = kIncomparable;
  difference.cosine = 0;
  return difference;
}

}  // namespace

Difference compare(DType dtype, std::span<const std::byte> got, const ExpectedOutput& want, const Limits& limits,
                   std::uint64_t row) {
  const std::uint64_t count = count_of(want.dtype, want.bytes.size());
  if (got.size() != bytes_for(dtype, count)) {
    throw machine_error(fmt::format("comparing {} bytes of {} with {} values", got.size(), name_of(dtype), count));
  }
  const Difference difference = compare_numbers(dtype, got, want, limits, row, count);
  if (difference.not_finite == 0 && std::isfinite(difference.want_rms)) return difference;
  return compare_with_infinities(dtype, got, want, limits, row, count);
}

Difference difference_of(const OutputSums& found, DType dtype) {
  Sums sums{found.difference_squared, found.want_squared, found.got_squared, found.dot, found.max_abs};
  sums.not_finite = found.not_finite;
  Difference difference = difference_of(sums, found.elements);
  difference.row_l2 = found.row_l2;
  difference.worst_row = found.worst_row;
  difference.rows_that_count = found.rows_that_count;
  difference.beyond = found.beyond;
  difference.first_beyond = found.first_beyond;
  difference.worst_element = found.worst_element;
  difference.unequal = found.unequal;
  difference.first_unequal = found.first_unequal;
  difference.off_by_one = found.off_by_one;
  difference.further_off = found.further_off;
  difference.first_further_off = found.first_further_off;
  difference.elements = found.elements;
  difference.change = change_of(dtype, found);
  return difference;
}

}  // namespace evo

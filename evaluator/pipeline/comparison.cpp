#include "evaluator/pipeline/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/numbers/float_formats.h"

namespace evo {
namespace {

/// Elements of one chunk of the sums; and of the piece that is widened at a time, which stays in the L1 cache.
constexpr std::uint64_t kChunk = 1 << 17;
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

void add_piece(Sums& sums, const float* got, const float* want, std::size_t count) {
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

void count_not_finite(Sums& sums, const float* got, std::size_t count, std::uint64_t offset) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(got[i])) continue;
    if (sums.not_finite++ == 0) sums.first_not_finite = offset + i;
  }
}

Sums sums_of(DType dtype, const std::byte* got, const float* want, std::uint64_t begin, std::uint64_t end) {
  Sums sums;
  std::array<float, kPiece> piece{};
  for (std::uint64_t at = begin; at < end; at += kPiece) {
    const auto count = static_cast<std::size_t>(std::min(kPiece, end - at));
    widen(dtype, got + at * size_of(dtype), count, piece.data());
    count_not_finite(sums, piece.data(), count, at);
    add_piece(sums, piece.data(), want + at, count);
  }
  return sums;
}

double finite(double value) {
  return value <= kIncomparable ? value : kIncomparable;
}  // NaN too.

Difference difference_of(const Sums& sums, std::uint64_t count) {
  Difference result;
  result.not_finite = sums.not_finite;
  result.first_not_finite = sums.first_not_finite;
  result.want_rms = std::sqrt(sums.want_squared / static_cast<double>(std::max<std::uint64_t>(count, 1)));
  result.max_abs = finite(sums.max_abs);
  if (sums.not_finite > 0) {
    result.relative_l2 = result.max_abs = kIncomparable;
    result.cosine = 0;
  } else if (sums.want_squared == 0 || sums.got_squared == 0) {
    const bool equal = sums.want_squared == sums.got_squared;
    result.relative_l2 = equal ? 0 : (sums.want_squared == 0 ? kIncomparable : 1.0);
    result.cosine = equal ? 1 : 0;
  } else {
    result.relative_l2 = finite(std::sqrt(sums.difference_squared / sums.want_squared));
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
    case DType::f64:
      widen_each<double>(from, count, to, [](double v) { return static_cast<float>(v); });
      break;
    case DType::s32:
      widen_each<std::int32_t>(from, count, to, [](std::int32_t v) { return static_cast<float>(v); });
      break;
    case DType::u8:
      widen_each<std::uint8_t>(from, count, to, [](std::uint8_t v) { return static_cast<float>(v); });
      break;
    case DType::s8:
      widen_each<std::int8_t>(from, count, to, [](std::int8_t v) { return static_cast<float>(v); });
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
  }
}

Difference compare(DType dtype, std::span<const std::byte> got, std::span<const float> want) {
  if (got.size() != want.size() * size_of(dtype)) {
    throw machine_error(fmt::format("an output has {} bytes where the oracle has {} elements of {}", got.size(),
                                    want.size(), name_of(dtype)));
  }
  std::vector<Sums> chunks((want.size() + kChunk - 1) / kChunk);
  parallel_chunks(want.size(), kChunk, [&](std::uint64_t begin, std::uint64_t end) {
    chunks[begin / kChunk] = sums_of(dtype, got.data(), want.data(), begin, end);
  });
  Sums all;
  for (const Sums& chunk : chunks) {
    all.difference_squared += chunk.difference_squared;
    all.want_squared += chunk.want_squared;
    all.got_squared += chunk.got_squared;
    all.dot += chunk.dot;
    all.max_abs = std::max(all.max_abs, chunk.max_abs);
    if (all.not_finite == 0) all.first_not_finite = chunk.first_not_finite;
    all.not_finite += chunk.not_finite;
  }
  return difference_of(all, want.size());
}

double closeness(const Difference& difference, const Limits& limits) {
  double closest = 0;
  if (limits.relative_l2 > 0) closest = difference.relative_l2 / limits.relative_l2;
  if (limits.cosine > 0 && limits.cosine < 1) {
    closest = std::max(closest, std::sqrt(std::max(0.0, 1 - difference.cosine) / (1 - limits.cosine)));
  }
  if (limits.max_abs > 0 && difference.want_rms > 0) {
    closest = std::max(closest, difference.max_abs / (limits.max_abs * difference.want_rms));
  }
  return closest;
}

std::optional<std::string> why_wrong(const Difference& difference, const Limits& limits) {
  if (difference.not_finite > 0) {
    return fmt::format("{} values are not finite, the first at {} (never written, or computed from garbage)",
                       difference.not_finite, difference.first_not_finite);
  }
  if (difference.want_rms == 0 && difference.max_abs > 0) {
    return fmt::format("the answer is all zeros, it has {:.3g}", difference.max_abs);
  }
  // Written so that a NaN fails.
  if (limits.relative_l2 > 0 && !(difference.relative_l2 <= limits.relative_l2)) {
    return fmt::format("relative L2 error {:.4g} (limit {:g})", difference.relative_l2, limits.relative_l2);
  }
  if (limits.cosine > 0 && !(difference.cosine >= limits.cosine)) {
    return fmt::format("cosine {:.5g} (at least {:g})", difference.cosine, limits.cosine);
  }
  if (limits.max_abs > 0 && !(difference.max_abs <= limits.max_abs * difference.want_rms)) {
    return fmt::format("largest error {:.4g} of the answer's RMS (limit {:g})",
                       difference.max_abs / difference.want_rms, limits.max_abs);
  }
  return std::nullopt;
}

}  // namespace evo

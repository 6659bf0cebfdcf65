#include "evaluator/device/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/base/random.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// Elements that one thread draws at a time; even, because two e2m1 share a byte.
constexpr std::uint64_t kDrawChunk = 1 << 16;
/// Distinct values in the regime `ties`.
constexpr std::uint64_t kTiedValues = 4;

/// Of the end of a range of floats: smaller powers of two scale everything to zero.
constexpr double kLeastPower = 0x1p-8;
/// A range of integers of as many values gets some with many trailing zeros in the regime `ties`.
constexpr std::uint64_t kWideRange = 64, kMostWhole = std::uint64_t{1} << 62;

/// What a counter's third word says the number is for, so that choices and values are independent.
enum class DrawPurpose : std::uint32_t { value, regime, zeros };

std::uint64_t random_bits(std::uint64_t stream, std::uint64_t i, DrawPurpose purpose = DrawPurpose::value) {
  const auto words = philox(stream, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
                                     static_cast<std::uint32_t>(purpose), 0});
  return static_cast<std::uint64_t>(words[0]) << 32 | words[1];
}

/// 0 or more and less than `count`, or any 64 bits for a count of 0.
std::uint64_t below(std::uint64_t count, std::uint64_t bits) {
  return count == 0 ? bits : bits % count;
}

/// Whole numbers first, first + 1, ..., `count` of them (0: 2^64).
struct Range {
  std::int64_t first = 0;
  std::uint64_t count = 1;
  Number at(std::uint64_t index, DType dtype) const {
    const std::uint64_t bits = static_cast<std::uint64_t>(first) + index;
    return dtype == DType::u64 ? Number(bits) : Number(static_cast<std::int64_t>(bits));
  }
};

std::int64_t whole(const DrawRecipe& recipe, std::size_t number) {
  const long double value = exact(recipe.numbers.at(number));
  if (value != std::trunc(value) || value < -0x1p63L || value >= 0x1p63L)
    throw usage_error(fmt::format("{}: a range is of whole numbers of 64 bits", recipe.name));
  return static_cast<std::int64_t>(value);
}

Range range_of(const DrawRecipe& recipe) {
  const DTypeInfo& info = info_of(recipe.dtype);
  switch (recipe.kind) {
    case DrawKind::integers: {
      const std::int64_t low = whole(recipe, 0), high = whole(recipe, 1);
      if (low > high) throw usage_error(fmt::format("{}: integers({}, {}) is empty", recipe.name, low, high));
      return {low, static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1};
    }
    case DrawKind::indices: {
      const std::int64_t count = whole(recipe, 0);
      if (count < 1) throw usage_error(fmt::format("{}: indices({}) is empty", recipe.name, count));
      return {0, static_cast<std::uint64_t>(count)};
    }
    default: {
      if (recipe.dtype == DType::boolean) return {0, 2};
      const bool is_signed = info.least < 0;
      const bool half = recipe.kind == DrawKind::non_negative && is_signed;
      const std::uint64_t all = info.bits == 64 ? 0 : std::uint64_t{1} << info.bits;
      if (half) return {0, std::uint64_t{1} << (info.bits - 1)};
      return {is_signed ? -(std::int64_t{1} << (info.bits - 2)) * 2 : 0, all};
    }
  }
}

void store_held(const DrawRecipe& recipe, std::byte* to, std::uint64_t index, Number number) {
  if (const std::string why = why_not_held(recipe.dtype, number); !why.empty())
    throw usage_error(fmt::format("buffer '{}': {}", recipe.name, why));
  store_at(recipe.dtype, to, index, number);
}

template <class NumberAt>
void store_each(const DrawRecipe& recipe, std::byte* to, NumberAt number_at) {
  for (std::uint64_t i = 0; i < recipe.elements; ++i) store_held(recipe, to, i, number_at(i));
}

/// As a floating-point format stores it: rounded and saturated.
template <class NumberAt>
void store_rounded(const DrawRecipe& recipe, std::byte* to, NumberAt number_at) {
  parallel_chunks(recipe.elements, kDrawChunk, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) store_at(recipe.dtype, to, i, number_at(i));
  });
}

/// One of the values of the regime `ties`, as its distance from the range's first. Of a wide range they are odd numbers
/// times powers of two that differ by 2^4: for one in four scales that are powers of two, the product is a half.
std::uint64_t tied(const DrawRecipe& recipe, const Range& range, std::uint64_t number) {
  const std::uint64_t bits = random_bits(recipe.stream, number, DrawPurpose::regime);
  const std::uint64_t any = below(range.count, bits);
  if (range.count < kWideRange || range.count > kMostWhole) return any;
  const auto value = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.first) + any);
  const auto largest = static_cast<std::uint64_t>(std::bit_width(range.count)) - 1;
  const std::uint64_t zeros = (random_bits(recipe.stream, 0, DrawPurpose::zeros) + 4 * number) % largest;
  const std::int64_t unit = std::int64_t{1} << zeros;
  const std::int64_t odd = (value / unit / 2 * 2 + 1) * unit;
  const bool inside = odd >= range.first && static_cast<std::uint64_t>(odd - range.first) < range.count;
  return inside ? static_cast<std::uint64_t>(odd - range.first) : any;
}

/// Whether any value of the dtype may be drawn: no range of the task's own.
bool is_whole_dtype(const DrawRecipe& recipe) {
  return recipe.kind != DrawKind::integers && recipe.kind != DrawKind::indices;
}

/// The end of the range of the larger magnitude, as its distance from the first.
std::uint64_t farthest_from_zero(const Range& range) {
  return range.first < 0 ? 0 : range.count - 1;
}

void draw_integers(const DrawRecipe& recipe, std::byte* to) {
  const Range range = range_of(recipe);
  // Ends of a range that the dtype does not hold are an error of the task, however the draw falls.
  for (const std::uint64_t end : {std::uint64_t{0}, range.count - 1})
    if (const std::string why = why_not_held(recipe.dtype, range.at(end, recipe.dtype)); !why.empty())
      throw usage_error(fmt::format("buffer '{}': {}", recipe.name, why));
  const auto any = [&](std::uint64_t i, DrawPurpose purpose) {
    return below(range.count, random_bits(recipe.stream, i, purpose));
  };
  std::vector<std::uint64_t> chosen(recipe.elements);
  for (std::uint64_t i = 0; i < recipe.elements; ++i) {
    switch (recipe.regime) {
      case Distribution::all_equal:
        chosen[i] = any(0, DrawPurpose::regime);
        break;
      case Distribution::extremes:
        chosen[i] = random_bits(recipe.stream, i) >> 63 != 0 ? range.count - 1 : 0;
        break;
      case Distribution::max_magnitude:
        chosen[i] = is_whole_dtype(recipe) ? farthest_from_zero(range) : any(i, DrawPurpose::value);
        break;
      case Distribution::ties:
        chosen[i] = tied(recipe, range, below(kTiedValues, random_bits(recipe.stream, i)));
        break;
      default:
        chosen[i] = any(i, DrawPurpose::value);
    }
  }
  // Rows ascend: as unsigned distances from the first of the range.
  if (recipe.regime == Distribution::sorted)
    for (std::uint64_t begin = 0; begin < recipe.elements; begin += recipe.row)
      std::sort(chosen.begin() + static_cast<std::ptrdiff_t>(begin),
                chosen.begin() + static_cast<std::ptrdiff_t>(std::min(begin + recipe.row, recipe.elements)));
  for (std::uint64_t i = 0; i < recipe.elements; ++i) store_at(recipe.dtype, to, i, range.at(chosen[i], recipe.dtype));
}

std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint64_t stream, bool sorted) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t i = count; i > 1 && !sorted; --i) std::swap(order[i - 1], order[random_bits(stream, i) % i]);
  return order;
}

void draw_permutation(const DrawRecipe& recipe, std::uint64_t row, std::byte* to) {
  const bool sorted = recipe.regime == Distribution::sorted;
  for (std::uint64_t begin = 0; begin < recipe.elements; begin += row) {
    const std::uint64_t stream = row == recipe.elements ? recipe.stream : mix(recipe.stream, begin);
    const auto order = shuffled(std::min(row, recipe.elements - begin), stream, sorted);
    for (std::uint64_t i = 0; i < order.size(); ++i)
      store_held(recipe, to, begin + i, static_cast<std::int64_t>(order[i]));
  }
}

void draw_page_table(const DrawRecipe& recipe, std::byte* to) {
  const std::int64_t pages = whole(recipe, 0);
  if (pages < 1) throw usage_error(fmt::format("{}: page_table({}) has no pages", recipe.name, pages));
  const auto order = shuffled(static_cast<std::uint64_t>(pages), recipe.stream, recipe.regime == Distribution::sorted);
  for (std::uint64_t i = 0; i < recipe.elements; ++i)
    store_held(recipe, to, i, static_cast<std::int64_t>(order[i % order.size()]));
}

/// How long each segment of 0 ... total is: by the regime `all_equal` as long as the others, or one longer; by
/// `uniform` as each of the total falls into any; by `extremes` one has all; else between random cuts, of which one in
/// four repeats its neighbour.
std::vector<std::uint64_t> segments(const DrawRecipe& recipe, std::uint64_t total) {
  const std::uint64_t count = recipe.elements - 1;
  std::vector<std::uint64_t> lengths(count, 0);
  if (recipe.regime == Distribution::extremes) {
    lengths[below(count, random_bits(recipe.stream, 0, DrawPurpose::regime))] = total;
  } else if (recipe.regime == Distribution::all_equal) {
    for (std::uint64_t i = 0; i < count; ++i) lengths[i] = total / count + (i < total % count ? 1 : 0);
  } else if (recipe.regime == Distribution::uniform) {
    for (std::uint64_t i = 0; i < total; ++i) ++lengths[below(count, random_bits(recipe.stream, i))];
  } else {
    std::vector<std::uint64_t> cuts(count - 1);
    for (std::uint64_t i = 0; i < cuts.size(); ++i) cuts[i] = below(total + 1, random_bits(recipe.stream, i + 1));
    std::ranges::sort(cuts);
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < cuts.size(); ++i) {
      if (random_bits(recipe.stream, i + 1, DrawPurpose::regime) >> 62 == 0) cuts[i] = before;
      lengths[i] = cuts[i] - before;
      before = cuts[i];
    }
    lengths.back() = total - before;
  }
  return lengths;
}

void draw_offsets(const DrawRecipe& recipe, std::byte* to) {
  const std::int64_t total = whole(recipe, 0);
  if (total < 0) throw usage_error(fmt::format("{}: offsets({}) would fall", recipe.name, total));
  if (recipe.elements < 2) throw usage_error(fmt::format("{}: offsets need two elements or more", recipe.name));
  const std::vector<std::uint64_t> lengths = segments(recipe, static_cast<std::uint64_t>(total));
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < recipe.elements; ++i) {
    store_held(recipe, to, i, static_cast<std::int64_t>(offset));
    if (i < lengths.size()) offset += lengths[i];
  }
}

void draw_bits(const DrawRecipe& recipe, std::byte* to) {
  const std::uint64_t bytes = bytes_for(recipe.dtype, recipe.elements);
  for (std::uint64_t i = 0; i < bytes; ++i)
    to[i] = static_cast<std::byte>(random_bits(recipe.stream, i / 8) >> (i % 8 * 8));
}

/// As an integer where 64 bits hold the value, else as the nearest double.
Number as_number(long double value) {
  if (value < -0x1p63L || value >= 0x1p64L) return static_cast<double>(value);
  if (value < 0x1p63L) return static_cast<std::int64_t>(value);
  return static_cast<std::uint64_t>(value);
}

Number progression(const DrawRecipe& recipe, std::uint64_t i) {
  const auto is_whole = [](Number number) { return !std::holds_alternative<double>(number); };
  if (std::ranges::all_of(recipe.numbers, is_whole))
    return as_number(exact(recipe.numbers.at(0)) + static_cast<long double>(i) * exact(recipe.numbers.at(1)));
  return as_double(recipe.numbers.at(0)) + static_cast<double>(i) * as_double(recipe.numbers.at(1));
}

/// The element whose random numbers element i has: in the regime `all_equal` the first one's.
std::uint64_t source_of(const DrawRecipe& recipe, std::uint64_t i) {
  switch (recipe.regime) {
    case Distribution::all_equal:
      return 0;
    case Distribution::constant_rows:
      return i - i % recipe.row;
    case Distribution::ties:
      return below(kTiedValues, random_bits(recipe.stream, i, DrawPurpose::regime));
    default:
      return i;
  }
}

/// In the regime `ties` floats are powers of two, so that what they scale falls between two codes.
bool has_powers_of_two(const DrawRecipe& recipe) {
  return recipe.regime == Distribution::ties && is_floating(recipe.dtype);
}

/// The greatest one up to the value.
double power_of_two(const DrawRecipe& recipe, double value) {
  if (!has_powers_of_two(recipe) || value == 0) return value;
  return std::copysign(std::exp2(std::floor(std::log2(std::fabs(value)))), value);
}

/// Every second time the greatest one of the range, or else any. Where there is none, the value.
double power_of_two_between(const DrawRecipe& recipe, std::uint64_t i, double low, double high, double value) {
  if (!has_powers_of_two(recipe) || high <= 0) return value;
  const double least = std::ceil(std::log2(std::max(low, high * kLeastPower)));
  double most = std::ceil(std::log2(high)) - 1;  // The end is excluded.
  if (most < least) return value;
  const std::uint64_t bits = random_bits(recipe.stream, i, DrawPurpose::regime);
  if (bits >> 63 == 0) most -= static_cast<double>(bits % static_cast<std::uint64_t>(most - least + 1));
  return std::exp2(most);
}

double uniform_at(const DrawRecipe& recipe, std::uint64_t i) {
  const double low = as_double(recipe.numbers.at(0)), width = as_double(recipe.numbers.at(1)) - low;
  const double share = static_cast<double>(random_bits(recipe.stream, source_of(recipe, i)) >> 11) * 0x1p-53;
  return power_of_two_between(recipe, i, low, low + width, low + share * width);
}

double normal_at(const DrawRecipe& recipe, std::uint64_t i) {
  const auto word = static_cast<std::uint32_t>(random_bits(recipe.stream, source_of(recipe, i)) >> 32);
  return normal_from_word(word);
}

}  // namespace

bool draws_integers(DrawKind kind, DType dtype) {
  if (kind == DrawKind::integers || kind == DrawKind::indices) return true;
  return is_integer(dtype) && (kind == DrawKind::automatic || kind == DrawKind::non_negative);
}

void draw_elements(const DrawRecipe& recipe, std::byte* to) {
  if (draws_integers(recipe.kind, recipe.dtype)) return draw_integers(recipe, to);
  const bool floating = is_floating(recipe.dtype);
  switch (recipe.kind) {
    case DrawKind::list:
      if (recipe.numbers.size() > recipe.elements) {
        throw usage_error(fmt::format("buffer '{}' has {} elements, {} numbers were given", recipe.name,
                                      recipe.elements, recipe.numbers.size()));
      }
      return store_each(recipe, to, [&](std::uint64_t i) {
        return i < recipe.numbers.size() ? recipe.numbers[i] : Number{std::int64_t{0}};
      });
    case DrawKind::iota:
      return store_each(recipe, to, [&](std::uint64_t i) { return progression(recipe, i); });
    case DrawKind::uniform:
      if (floating) return store_rounded(recipe, to, [&](std::uint64_t i) { return Number(uniform_at(recipe, i)); });
      return store_each(recipe, to, [&](std::uint64_t i) { return Number(std::floor(uniform_at(recipe, i))); });
    case DrawKind::normal: {
      const double mean = as_double(recipe.numbers.at(0)), deviation = as_double(recipe.numbers.at(1));
      const auto value = [&](std::uint64_t i) { return power_of_two(recipe, mean + normal_at(recipe, i) * deviation); };
      if (floating) return store_rounded(recipe, to, [&](std::uint64_t i) { return Number(value(i)); });
      return store_each(recipe, to, [&](std::uint64_t i) { return Number(std::nearbyint(value(i))); });
    }
    case DrawKind::non_negative:
      return store_rounded(
          recipe, to, [&](std::uint64_t i) { return Number(power_of_two(recipe, std::fabs(normal_at(recipe, i)))); });
    case DrawKind::permutation:
      return draw_permutation(recipe, recipe.row, to);
    case DrawKind::shuffle:
      return draw_permutation(recipe, recipe.elements, to);
    case DrawKind::offsets:
      return draw_offsets(recipe, to);
    case DrawKind::page_table:
      return draw_page_table(recipe, to);
    case DrawKind::bits:
      return draw_bits(recipe, to);
    default: {
      const Number number = recipe.numbers.empty() ? Number{std::int64_t{0}} : recipe.numbers[0];
      return store_each(recipe, to, [&](std::uint64_t) { return number; });
    }
  }
}

}  // namespace evo

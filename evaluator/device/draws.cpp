#include "evaluator/device/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/base/random.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// Elements that one thread draws at a time; a multiple of 16, so that each begins at a whole word of random bits.
constexpr std::uint64_t kDrawChunk = 1 << 16;
/// Distinct values in the regime `ties`.
constexpr std::uint64_t kTiedValues = 4;

/// Of the end of a range of floats: smaller powers of two scale everything to zero. No subnormal is one.
constexpr double kLeastPower = 0x1p-8, kLeastExponent = -1022;
/// A range of integers of as many values gets some with many trailing zeros in the regime `ties`.
constexpr std::uint64_t kWideRange = 64, kMostWhole = std::uint64_t{1} << 62;
/// No normal number is larger: random.h.
constexpr double kMostNormal = 6.35;

namespace element {
using enum ElementKind;
}
namespace source {
using enum ElementSource;
}

std::uint64_t bits_of(double x) {
  return std::bit_cast<std::uint64_t>(x);
}
template <class Real>
Real real_of_bits(std::uint64_t bits) {
  return std::bit_cast<Real>(bits);
}
template <class Real>
Real normal_of_word(std::uint32_t word) {
  return normal_from_word(word);
}

std::uint64_t random_bits(std::uint64_t stream, std::uint64_t i, std::uint32_t purpose = 0) {
  const auto words = philox(stream, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), purpose, 0});
  return static_cast<std::uint64_t>(words[0]) << 32 | words[1];
}

#define EVO_EACH inline
#include "evaluator/device/element_draws.cuh"
#undef EVO_EACH

/// Whole numbers first, first + 1, ..., `count` of them (0: 2^64).
struct Range {
  std::int64_t first = 0;
  std::uint64_t count = 1;
};

Number as_whole_number(DType dtype, std::uint64_t bits) {
  return dtype == DType::u64 ? Number(bits) : Number(static_cast<std::int64_t>(bits));
}

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

/// Whether any value of the dtype may be drawn: no range of the task's own.
bool is_whole_dtype(const DrawRecipe& recipe) {
  return recipe.kind != DrawKind::integers && recipe.kind != DrawKind::indices;
}

/// The end of the range of the larger magnitude, as its distance from the first.
std::uint64_t farthest_from_zero(const Range& range) {
  return range.first < 0 ? 0 : range.count - 1;
}

ElementDraw common_draw(const DrawRecipe& recipe, ElementKind kind) {
  ElementDraw draw{.elements = recipe.elements, .row = recipe.row, .stream = recipe.stream, .ties = kTiedValues};
  draw.kind = kind;
  draw.dtype = recipe.dtype;
  return draw;
}

/// In the regime `sorted` of rows that have yet to be sorted.
ElementDraw whole_draw(const DrawRecipe& recipe) {
  const Range range = range_of(recipe);
  ElementDraw draw = common_draw(recipe, ElementKind::whole);
  draw.first = static_cast<std::uint64_t>(range.first);
  draw.count = range.count;
  // Ends of a range that the dtype does not hold are an error of the task, however the draw falls.
  for (const std::uint64_t end : {draw.first, draw.first + range.count - 1})
    if (const std::string why = why_not_held(recipe.dtype, as_whole_number(recipe.dtype, end)); !why.empty())
      throw usage_error(fmt::format("buffer '{}': {}", recipe.name, why));
  const auto all_are = [&](std::uint64_t distance) {
    draw.kind = ElementKind::progression;
    draw.first += distance;
    draw.count = 0;
  };
  if (recipe.regime == Distribution::all_equal)
    all_are(below(range.count, random_bits(recipe.stream, 0, draws_regime)));
  if (recipe.regime == Distribution::max_magnitude && is_whole_dtype(recipe)) all_are(farthest_from_zero(range));
  if (recipe.regime == Distribution::extremes) draw.source = ElementSource::ends;
  if (recipe.regime == Distribution::ties) draw.source = ElementSource::tied;
  if (range.count >= kWideRange && range.count <= kMostWhole)
    draw.most_zeros = static_cast<std::uint64_t>(std::bit_width(range.count)) - 1;
  return draw;
}

/// Rows ascend: as unsigned distances from the first of the range.
void draw_sorted(const DrawRecipe& recipe, std::byte* to) {
  const ElementDraw draw = whole_draw(recipe);
  for (std::uint64_t begin = 0; begin < recipe.elements; begin += recipe.row) {
    std::vector<std::uint64_t> chosen(std::min(recipe.row, recipe.elements - begin));
    for (std::uint64_t i = 0; i < chosen.size(); ++i) chosen[i] = whole_element(draw, begin + i) - draw.first;
    std::ranges::sort(chosen);
    for (std::uint64_t i = 0; i < chosen.size(); ++i)
      store_at(recipe.dtype, to, begin + i, as_whole_number(recipe.dtype, draw.first + chosen[i]));
  }
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
    lengths[below(count, random_bits(recipe.stream, 0, draws_regime))] = total;
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
      if (random_bits(recipe.stream, i + 1, draws_regime) >> 62 == 0) cuts[i] = before;
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

std::optional<std::uint64_t> as_bits(DType dtype, Number number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return static_cast<std::uint64_t>(*whole);
  const auto* large = std::get_if<std::uint64_t>(&number);
  if (large == nullptr || (!is_integer(dtype) && *large > INT64_MAX)) return std::nullopt;
  return *large;
}

/// first, first + step, ...
std::optional<ElementDraw> progression_draw(const DrawRecipe& recipe, Number first, Number step) {
  const auto begin = as_bits(recipe.dtype, first), count = as_bits(recipe.dtype, step);
  DrawRecipe steps = recipe;
  steps.numbers = {first, step};
  const Number last = progression(steps, std::max<std::uint64_t>(recipe.elements, 1) - 1);
  if (!why_not_held(recipe.dtype, first).empty() || !why_not_held(recipe.dtype, last).empty()) return std::nullopt;
  ElementDraw draw = common_draw(recipe, ElementKind::progression);
  if (begin && count) {
    if (!as_bits(recipe.dtype, last)) return std::nullopt;
    draw.first = *begin;
    draw.count = *count;
    return draw;
  }
  draw.kind = ElementKind::line;
  draw.begin = as_double(first);
  draw.width = as_double(step);
  if (is_integer(recipe.dtype) || !std::isfinite(draw.begin) || !std::isfinite(draw.width)) return std::nullopt;
  return draw;
}

/// Of a range of floats in the regime `ties`: powers of two, so that what they scale falls between two codes.
void draw_powers(ElementDraw& draw, double low, double high) {
  if (!(high > 0) || std::isinf(high)) return;
  const double least = std::max(std::ceil(std::log2(std::max(low, high * kLeastPower))), kLeastExponent);
  const double most = std::ceil(std::log2(high)) - 1;  // The end is excluded.
  if (most < least) return;
  draw.powers = 1;
  draw.least = static_cast<int>(least);
  draw.most = static_cast<int>(most);
}

/// Of numbers that need not be whole, but become so where the dtype has no others.
ElementDraw real_draw(const DrawRecipe& recipe) {
  ElementDraw draw = common_draw(recipe, recipe.kind == DrawKind::uniform  ? ElementKind::uniform
                                         : recipe.kind == DrawKind::normal ? ElementKind::normal
                                                                           : ElementKind::magnitude);
  if (draw.kind != ElementKind::magnitude) {
    draw.begin = as_double(recipe.numbers.at(0));
    draw.width = as_double(recipe.numbers.at(1));
  }
  const double high = draw.width;
  if (draw.kind == ElementKind::uniform) draw.width -= draw.begin;
  if (recipe.regime == Distribution::all_equal) draw.source = ElementSource::first;
  if (recipe.regime == Distribution::constant_rows) draw.source = ElementSource::row;
  if (recipe.regime != Distribution::ties) return draw;
  draw.source = ElementSource::tied;
  if (!is_floating(recipe.dtype)) return draw;
  if (draw.kind == ElementKind::uniform)
    draw_powers(draw, draw.begin, high);
  else
    draw.powers = 1;
  return draw;
}

/// Whether the dtype holds whatever may be drawn.
bool is_always_held(const ElementDraw& draw) {
  if (is_floating(draw.dtype)) return true;
  const bool is_range = draw.kind == ElementKind::uniform;
  const double below = is_range ? 0 : kMostNormal * std::fabs(draw.width), above = is_range ? draw.width : below;
  return std::ranges::all_of(
      std::array{std::floor(draw.begin - below), std::ceil(draw.begin + above)},
      [&](double end) { return std::fabs(end) < 0x1p63 && why_not_held(draw.dtype, end).empty(); });
}

/// As integers have it.
double rounded(const ElementDraw& draw, std::uint64_t i) {
  const double value = real_element<double>(draw, i);
  return draw.kind == ElementKind::uniform ? std::floor(value) : std::nearbyint(value);
}

ElementDraw bits_draw(const DrawRecipe& recipe) {
  ElementDraw draw = common_draw(recipe, ElementKind::bits);
  if (recipe.dtype != DType::e2m1) return draw;
  draw.elements = bytes_for(recipe.dtype, recipe.elements);
  draw.dtype = DType::u8;
  return draw;
}

/// Of `bytes` bytes, those of words `word` and on.
void store_bits(std::uint64_t stream, std::uint64_t word, std::uint64_t bytes, std::byte* to) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random_bits(stream, word++, draws_value);
    std::memcpy(to + at, &bits, std::min<std::uint64_t>(sizeof bits, bytes - at));
  }
}

/// Element i becomes number `at` of `to`.
void store_element(const ElementDraw& draw, std::uint64_t i, std::byte* to, std::uint64_t at) {
  const bool is_whole = draw.kind == ElementKind::whole || draw.kind == ElementKind::progression;
  if (is_integer(draw.dtype)) {
    const std::uint64_t bits =
        is_whole ? whole_element(draw, i) : static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded(draw, i)));
    std::memcpy(to + at * size_of(draw.dtype), &bits, size_of(draw.dtype));
  } else {
    store_at(draw.dtype, to, at,
             is_whole ? static_cast<double>(static_cast<std::int64_t>(whole_element(draw, i)))
                      : real_element<double>(draw, i));
  }
}

}  // namespace

bool draws_integers(DrawKind kind, DType dtype) {
  if (kind == DrawKind::integers || kind == DrawKind::indices) return true;
  return is_integer(dtype) && (kind == DrawKind::automatic || kind == DrawKind::non_negative);
}

std::optional<ElementDraw> element_draw(const DrawRecipe& recipe) {
  if (draws_integers(recipe.kind, recipe.dtype)) {
    if (recipe.regime == Distribution::sorted) return std::nullopt;
    return whole_draw(recipe);
  }
  switch (recipe.kind) {
    case DrawKind::constant:
      return progression_draw(recipe, recipe.numbers.empty() ? Number{std::int64_t{0}} : recipe.numbers[0],
                              recipe.numbers.empty() || !std::holds_alternative<double>(recipe.numbers[0])
                                  ? Number{std::int64_t{0}}
                                  : Number{-0.0});  // Whatever is added to -0 stays, -0, too.
    case DrawKind::iota:
      return progression_draw(recipe, recipe.numbers.at(0), recipe.numbers.at(1));
    case DrawKind::uniform:
    case DrawKind::normal:
    case DrawKind::non_negative: {
      const ElementDraw draw = real_draw(recipe);
      return is_always_held(draw) ? std::optional(draw) : std::nullopt;
    }
    case DrawKind::bits:
      return bits_draw(recipe);
    default:
      return std::nullopt;
  }
}

void draw_elements(const ElementDraw& draw, std::uint64_t from, std::uint64_t until, std::byte* to) {
  parallel_chunks(until - from, kDrawChunk, [&](std::uint64_t begin, std::uint64_t end) {
    if (draw.kind == ElementKind::bits) {
      const std::uint64_t size = size_of(draw.dtype);
      store_bits(draw.stream, (from + begin) * size / 8, (end - begin) * size, to + begin * size);
      return;
    }
    for (std::uint64_t i = begin; i < end; ++i) store_element(draw, from + i, to, i);
  });
}

void draw_elements(const DrawRecipe& recipe, std::byte* to) {
  if (const auto draw = element_draw(recipe)) return draw_elements(*draw, 0, draw->elements, to);
  if (draws_integers(recipe.kind, recipe.dtype)) return draw_sorted(recipe, to);
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
    case DrawKind::normal: {
      const ElementDraw draw = real_draw(recipe);
      return store_each(recipe, to, [&](std::uint64_t i) { return Number(rounded(draw, i)); });
    }
    case DrawKind::permutation:
      return draw_permutation(recipe, recipe.row, to);
    case DrawKind::shuffle:
      return draw_permutation(recipe, recipe.elements, to);
    case DrawKind::offsets:
      return draw_offsets(recipe, to);
    case DrawKind::page_table:
      return draw_page_table(recipe, to);
    default: {
      const Number number = recipe.numbers.empty() ? Number{std::int64_t{0}} : recipe.numbers[0];
      return store_each(recipe, to, [&](std::uint64_t) { return number; });
    }
  }
}

}  // namespace evo

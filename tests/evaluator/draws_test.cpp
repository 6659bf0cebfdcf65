// What the draws of tasks put into tensors.

#include "evaluator/device/draws.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "evaluator/numbers/elements.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

DrawRecipe recipe_of(DrawKind kind, DType dtype, std::uint64_t elements, std::vector<Number> numbers = {},
                     Distribution regime = Distribution::normal) {
  return {"x", dtype, elements, 100, kind, std::move(numbers), regime, 42};
}

std::vector<double> drawn(const DrawRecipe& recipe) {
  std::vector<std::byte> bytes(bytes_for(recipe.dtype, recipe.elements));
  draw_elements(recipe, bytes.data());
  std::vector<double> values(recipe.elements);
  for (std::uint64_t i = 0; i < recipe.elements; ++i) values[i] = as_double(load_at(recipe.dtype, bytes.data(), i));
  return values;
}

std::set<double> distinct(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("integers without a range cover their whole type") {
  CHECK(distinct(drawn(recipe_of(DrawKind::automatic, DType::u8, 10000))).size() == 256);
  const auto bytes = distinct(drawn(recipe_of(DrawKind::automatic, DType::s8, 10000)));
  CHECK(*bytes.begin() == -128);
  CHECK(*bytes.rbegin() == 127);
  const auto words = drawn(recipe_of(DrawKind::automatic, DType::s32, 10000));
  CHECK(*std::ranges::min_element(words) < -2.1e9);
  CHECK(*std::ranges::max_element(words) > 2.1e9);
  const auto longs = drawn(recipe_of(DrawKind::automatic, DType::s64, 10000));
  CHECK(*std::ranges::min_element(longs) < -9.2e18);
  CHECK(*std::ranges::max_element(longs) > 9.2e18);
  CHECK(distinct(drawn(recipe_of(DrawKind::automatic, DType::boolean, 1000))).size() == 2);
}

TEST_CASE("ranges hold their ends, indices stay below") {
  const auto range =
      distinct(drawn(recipe_of(DrawKind::integers, DType::s32, 1000, {std::int64_t{-2}, std::int64_t{3}})));
  CHECK(range == std::set<double>{-2, -1, 0, 1, 2, 3});
  const auto indices = distinct(drawn(recipe_of(DrawKind::indices, DType::s64, 1000, {std::int64_t{4}})));
  CHECK(indices == std::set<double>{0, 1, 2, 3});
  CHECK_THROWS_WITH(drawn(recipe_of(DrawKind::integers, DType::u8, 10, {std::int64_t{0}, std::int64_t{300}})),
                    ContainsSubstring("unsigned char holds whole numbers from 0 to 255, not 300"));
  CHECK_THROWS_WITH(drawn(recipe_of(DrawKind::indices, DType::s32, 10, {std::int64_t{0}})),
                    ContainsSubstring("indices(0) is empty"));
}

TEST_CASE("regimes of integers show what random values hide") {
  const std::vector<Number> range = {std::int64_t{0}, std::int64_t{999}};
  const auto in = [&](Distribution regime) {
    return drawn(recipe_of(DrawKind::integers, DType::s32, 1000, range, regime));
  };
  CHECK(distinct(in(Distribution::all_equal)).size() == 1);
  CHECK(distinct(in(Distribution::extremes)) == std::set<double>{0, 999});
  CHECK(distinct(in(Distribution::ties)).size() <= 4);
  const std::vector<double> sorted = in(Distribution::sorted);
  for (std::size_t row = 0; row < sorted.size(); row += 100)
    CHECK(std::is_sorted(sorted.begin() + static_cast<std::ptrdiff_t>(row),
                         sorted.begin() + static_cast<std::ptrdiff_t>(row + 100)));
  CHECK(distinct(in(Distribution::normal)).size() > 500);
}

TEST_CASE("a permutation has each number of its row once") {
  const auto values = drawn(recipe_of(DrawKind::permutation, DType::s32, 300));
  std::set<std::vector<double>> rows;
  for (std::size_t row = 0; row < 300; row += 100) {
    std::vector<double> one(values.begin() + static_cast<std::ptrdiff_t>(row),
                            values.begin() + static_cast<std::ptrdiff_t>(row + 100));
    rows.insert(one);
    std::ranges::sort(one);
    for (std::size_t i = 0; i < 100; ++i) REQUIRE(one[i] == static_cast<double>(i));
  }
  CHECK(rows.size() == 3);
}

TEST_CASE("offsets begin at 0, end at the total, do not fall, and have empty segments") {
  const auto offsets = drawn(recipe_of(DrawKind::offsets, DType::s32, 101, {std::int64_t{5000}}));
  CHECK(offsets.front() == 0);
  CHECK(offsets.back() == 5000);
  CHECK(std::ranges::is_sorted(offsets));
  CHECK(distinct(offsets).size() < 95);
  CHECK(distinct(offsets).size() > 50);
  const auto one = drawn(recipe_of(DrawKind::offsets, DType::s32, 101, {std::int64_t{5000}}, Distribution::extremes));
  CHECK(distinct(one) == std::set<double>{0, 5000});
  const auto short_segments = *std::ranges::max_element(offsets) - offsets[99];
  CHECK(short_segments >= 0);
}

TEST_CASE("segments between offsets are as long as each other, or as a router's that takes any expert") {
  const auto segments = [](Distribution regime) {
    const auto offsets = drawn(recipe_of(DrawKind::offsets, DType::s32, 101, {std::int64_t{5050}}, regime));
    CHECK(offsets.front() == 0);
    CHECK(offsets.back() == 5050);
    std::vector<double> lengths(offsets.size());
    std::adjacent_difference(offsets.begin(), offsets.end(), lengths.begin());
    return std::vector<double>(lengths.begin() + 1, lengths.end());
  };
  CHECK(distinct(segments(Distribution::all_equal)) == std::set<double>{50, 51});
  const auto [fewest, most] = std::ranges::minmax(segments(Distribution::uniform));
  CHECK(fewest >= 20);
  CHECK(fewest < 50);
  CHECK(most > 51);
  CHECK(most <= 90);
}

TEST_CASE("a page table uses every page before it repeats one") {
  const auto pages = drawn(recipe_of(DrawKind::page_table, DType::s32, 120, {std::int64_t{100}}));
  CHECK(distinct({pages.begin(), pages.begin() + 100}).size() == 100);
  CHECK(*std::ranges::max_element(pages) == 99);
}

TEST_CASE("floats may be uniform, non-negative, or any bits") {
  const auto uniform = drawn(recipe_of(DrawKind::uniform, DType::f32, 1000, {2.0, 3.0}));
  CHECK(*std::ranges::min_element(uniform) >= 2);
  CHECK(*std::ranges::max_element(uniform) <= 3);
  const auto positive = drawn(recipe_of(DrawKind::non_negative, DType::f16, 1000));
  CHECK(*std::ranges::min_element(positive) >= 0);
  CHECK(distinct(drawn(recipe_of(DrawKind::bits, DType::u8, 10000))).size() == 256);
  CHECK(distinct(drawn(recipe_of(DrawKind::bits, DType::e2m1, 1000))).size() == 15);  // -0 is 0.
}

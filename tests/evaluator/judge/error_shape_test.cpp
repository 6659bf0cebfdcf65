// What the error of an output looks like, and where the right values went.

#include "evaluator/judge/error_shape.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "evaluator/base/random.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

constexpr std::uint64_t kHeads = 2, kRows = 77, kColumns = 32;
const std::vector<NamedDim> kDims = {{"H", kHeads}, {"S", kRows}, {"D", kColumns}};
constexpr Tolerance kTolerance{0.02, 0};

std::vector<double> drawn(std::uint64_t count = kHeads * kRows * kColumns) {
  std::vector<double> values;
  for (std::uint32_t i = 0; i < count; ++i) values.push_back(normal_from_word(philox(7, {i, 0, 0, 0})[0]));
  return values;
}

std::uint64_t at(std::uint64_t head, std::uint64_t row, std::uint64_t column) {
  return (head * kRows + row) * kColumns + column;
}

/// got[head, row, column] = made(head, row, column)
std::vector<double> made_by(const std::function<double(std::uint64_t, std::uint64_t, std::uint64_t)>& made) {
  std::vector<double> values;
  for (std::uint64_t h = 0; h < kHeads; ++h)
    for (std::uint64_t r = 0; r < kRows; ++r)
      for (std::uint64_t c = 0; c < kColumns; ++c) values.push_back(made(h, r, c));
  return values;
}

ErrorShape shape_of(const std::vector<double>& got, const std::vector<double>& want) {
  return error_shape(got, want, kDims, kTolerance);
}

std::string words_of(const ErrorShape& shape) {
  std::string text;
  for (const std::string& words : in_words(shape)) text += words + "; ";
  return text;
}

}  // namespace

TEST_CASE("an output within its tolerance has no error to describe") {
  const std::vector<double> want = drawn();
  std::vector<double> got = want;
  got[5] += 0.01;
  const ErrorShape shape = shape_of(got, want);
  CHECK(shape.wrong == 0);
  CHECK(in_words(shape).empty());
}

TEST_CASE("the worst element is named by dims, with got and wanted, and one that is not finite is the worst of all") {
  const std::vector<double> want = drawn();
  std::vector<double> got = want;
  got[at(1, 13, 5)] += 3;
  got[at(1, 12, 5)] += 1;
  const ErrorShape shape = shape_of(got, want);
  CHECK(place_text(shape.worst, kDims) == "H 1, S 13, D 5");
  CHECK(shape.got == want[at(1, 13, 5)] + 3);
  CHECK(shape.want == want[at(1, 13, 5)]);
  CHECK(shape.first == at(1, 12, 5));
  CHECK(shape.wrong == 2);
  got[at(0, 2, 3)] = std::numeric_limits<double>::quiet_NaN();
  CHECK(shape_of(got, want).worst == at(0, 2, 3));
}

TEST_CASE("a factor is measured, with what it leaves unexplained") {
  const std::vector<double> want = drawn();
  std::vector<double> got = want;
  for (double& value : got) value *= 8;
  const ErrorShape shape = shape_of(got, want);
  CHECK_THAT(shape.ratio, WithinAbs(8, 1e-9));
  CHECK_THAT(shape.residual, WithinAbs(0, 1e-6));
  CHECK_THAT(words_of(shape), ContainsSubstring("8 times what is wanted"));
}

TEST_CASE("an offset and an error of one sign are named") {
  const std::vector<double> want = drawn();
  std::vector<double> shifted = want, positive = want;
  for (std::size_t i = 0; i < want.size(); ++i) {
    shifted[i] += 0.5;
    positive[i] += std::abs(want[(i + 1) % want.size()]);
  }
  CHECK_THAT(words_of(shape_of(shifted, want)), ContainsSubstring("0.5 is added everywhere"));
  const ErrorShape shape = shape_of(positive, want);
  CHECK(shape.bias == 1);
  CHECK_THAT(words_of(shape), ContainsSubstring("errors are positive"));
}

TEST_CASE("zeros and elements that were never written are told from wrong values") {
  const std::vector<double> want = drawn();
  CHECK_THAT(words_of(shape_of(std::vector<double>(want.size()), want)), ContainsSubstring("zeros in the place"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string text = words_of(shape_of(std::vector<double>(want.size(), nan), want));
  CHECK_THAT(text, ContainsSubstring("no element is finite"));
}

TEST_CASE("errors in one head, in a last partial tile and at every second column are located") {
  const std::vector<double> want = drawn();
  const auto spoilt = [&](const std::function<bool(std::uint64_t, std::uint64_t, std::uint64_t)>& where) {
    return words_of(shape_of(made_by([&](auto h, auto r, auto c) {
                               const std::uint64_t i = at(h, r, c);
                               return want[i] + (where(h, r, c) ? 1 + std::abs(want[(7 * i + 3) % want.size()]) : 0);
                             }),
                             want));
  };
  CHECK_THAT(spoilt([](auto h, auto, auto) { return h == 1; }), ContainsSubstring("only H 1 of 2"));
  CHECK_THAT(spoilt([](auto, auto r, auto) { return r >= 64; }), ContainsSubstring("partly filled tile of 64"));
  CHECK_THAT(spoilt([](auto, auto, auto c) { return c % 2 == 1; }), ContainsSubstring("only D % 2 = 1"));
  CHECK_THAT(spoilt([](auto, auto, auto c) { return c / 2 % 4 == 2; }), ContainsSubstring("only D % 8 = 4, 5"));
  CHECK_THAT(spoilt([](auto, auto r, auto) { return r == 5; }), ContainsSubstring("only S 5 of 77"));
}

TEST_CASE("columns exchanged in pairs are the right values at wrong places") {
  const std::vector<double> want = drawn();
  const auto got = made_by([&](auto h, auto r, auto c) { return want[at(h, r, c ^ 1)]; });
  CHECK(shape_of(got, want).arrangement == "columns are exchanged in pairs");
}

TEST_CASE("a permutation within groups of columns is written out") {
  const std::vector<double> want = drawn();
  const auto got = made_by([&](auto h, auto r, auto c) { return want[at(h, r, c / 8 * 8 + 3 * c % 8)]; });
  CHECK(shape_of(got, want).arrangement == "columns are permuted within groups of 8: 0 3 6 1 4 7 2 5");
}

TEST_CASE("shifted and reversed rows are named") {
  const std::vector<double> want = drawn();
  const auto later = made_by([&](auto h, auto r, auto c) { return want[at(h, (r + kRows - 1) % kRows, c)]; });
  CHECK(shape_of(later, want).arrangement == "rows come 1 later");
  const auto reversed = made_by([&](auto h, auto r, auto c) { return want[at(h, kRows - 1 - r, c)]; });
  CHECK(shape_of(reversed, want).arrangement == "rows are reversed");
}

TEST_CASE("heads that changed places are named") {
  const std::vector<double> want = drawn();
  const auto got = made_by([&](auto h, auto r, auto c) { return want[at(1 - h, r, c)]; });
  CHECK(shape_of(got, want).arrangement == "matrices (heads) are exchanged in pairs");
}

TEST_CASE("transposed tiles and matrices are named") {
  const std::vector<NamedDim> dims = {{"M", 32}, {"N", 32}};
  const std::vector<double> want = drawn(32 * 32);
  std::vector<double> whole = want, tiles = want;
  for (std::uint64_t r = 0; r < 32; ++r)
    for (std::uint64_t c = 0; c < 32; ++c) {
      whole[r * 32 + c] = want[c * 32 + r];
      tiles[r * 32 + c] = want[(r / 8 * 8 + c % 8) * 32 + c / 8 * 8 + r % 8];
    }
  CHECK(error_shape(whole, want, dims, kTolerance).arrangement == "matrices are transposed");
  CHECK(error_shape(tiles, want, dims, kTolerance).arrangement == "tiles of 8 x 8 are transposed");
}

TEST_CASE("values that are wrong as well as misplaced are no arrangement") {
  const std::vector<double> want = drawn();
  auto got = made_by([&](auto h, auto r, auto c) { return want[at(h, r, c ^ 1)]; });
  got[at(1, 3, 3)] += 1;
  CHECK(shape_of(got, want).arrangement.empty());
}

TEST_CASE("a factor of each row is taken out, and what remains is an error of its own") {
  const std::vector<double> want = drawn();
  auto got = made_by([&](auto h, auto r, auto c) { return want[at(h, r, c)] * (1 + 0.1 * static_cast<double>(r)); });
  const auto by_row = with_free_factor(got, want, kDims, FreeFactor::row);
  CHECK(shape_of(got, by_row).wrong == 0);
  CHECK(shape_of(got, with_free_factor(got, want, kDims, FreeFactor::matrix)).wrong > 0);
  CHECK(with_free_factor(got, want, kDims, FreeFactor::none) == want);
  got[at(0, 9, 4)] += 5;
  CHECK(shape_of(got, with_free_factor(got, want, kDims, FreeFactor::row)).wrong > 0);
}

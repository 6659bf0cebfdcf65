#include "evaluator/judge/comparison.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/base/random.h"
#include "evaluator/numbers/float_formats.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

const Limits kLimits{0.04, 0.998, 0};

std::vector<float> oracle(std::size_t count = 300000) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(0.05 * normal_from_word(philox(1, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]));
  }
  return values;
}

std::vector<std::byte> as_f16(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = f16_from_f32(values[i]);
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

std::optional<Miss> verdict(const std::vector<float>& got, const std::vector<float>& want, Limits limits = kLimits) {
  return miss_of(compare(DType::f16, as_f16(got), want), limits);
}

}  // namespace

TEST_CASE("the right answer rounded to f16 passes, and its error is that of f16") {
  const std::vector<float> want = oracle();
  const Difference difference = compare(DType::f16, as_f16(want), want);
  CHECK(!miss_of(difference, kLimits));
  CHECK(difference.relative_l2 < 0x1.0p-11);
  CHECK(difference.relative_l2 > 0x1.0p-14);
  CHECK_THAT(difference.cosine, WithinAbs(1, 1e-6));
  CHECK_THAT(difference.want_rms, WithinRel(0.05, 0.01));
}

TEST_CASE("answers of zeros, the mean, half and scaled values fail although most elements are within a tolerance") {
  const std::vector<float> want = oracle();
  // Every one of these passes allclose(atol = 5e-2, rtol = 5e-2) in most elements.
  std::vector<float> half = want, scaled = want;
  for (std::size_t i = 0; i < half.size(); i += 2) half[i] = 0;
  for (float& value : scaled) value *= 1.1F;
  const auto zeros = verdict(std::vector<float>(want.size(), 0.0F), want);
  REQUIRE(zeros);
  CHECK(zeros->kind == LimitKind::relative_l2);
  CHECK(zeros->error == 1);
  CHECK(verdict(std::vector<float>(want.size(), std::accumulate(want.begin(), want.end(), 0.0F) / 300000), want));
  CHECK(verdict(half, want));
  CHECK(verdict(scaled, want));
  CHECK(!verdict(scaled, want, {0.11, 0.998, 0}));
  std::vector<float> negated = want;
  for (float& value : negated) value = -value;
  CHECK(verdict(negated, want, {0, 0.998, 0}).value_or(Miss{}).kind == LimitKind::cosine);
}

TEST_CASE("one value that is not finite fails whatever the limits, and is reported with its index") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> got = oracle();
    got[200001] = bad;
    const Difference difference = compare(DType::f16, as_f16(got), oracle());
    CHECK(difference.not_finite == 1);
    CHECK(difference.first_not_finite == 200001);
    CHECK(std::isfinite(difference.relative_l2));
    const auto miss = miss_of(difference, Limits{});
    REQUIRE(miss);
    CHECK(miss->kind == LimitKind::not_finite);
    CHECK(miss->first == 200001);
  }
}

TEST_CASE("unwritten memory of every floating-point format fails") {
  const std::vector<float> want(4096, 1.0F);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::e4m3, DType::e5m2}) {
    INFO(name_of(dtype));
    const std::vector<std::byte> poison(want.size() * size_of(dtype), std::byte{0xff});
    CHECK(miss_of(compare(dtype, poison, want), Limits{}));
  }
}

TEST_CASE("a single large error fails where the task limits it") {
  const std::vector<float> want = oracle();
  std::vector<float> got = want;
  got[12345] += 1.0F;
  CHECK(!verdict(got, want, {0.04, 0.998, 0}));
  CHECK(verdict(got, want, {0.04, 0.998, 10}).value_or(Miss{}).kind == LimitKind::max_abs);
  CHECK(!verdict(got, want, {0.04, 0.998, 25}));
}

TEST_CASE("an expected answer of zeros accepts only zeros") {
  const std::vector<float> zeros(1000, 0.0F);
  std::vector<float> got = zeros;
  CHECK(!verdict(got, zeros));
  got[5] = 1e-3F;
  CHECK(verdict(got, zeros).value_or(Miss{}).kind == LimitKind::zero);
  got[5] = -0.0F;
  CHECK(!verdict(got, zeros));
}

TEST_CASE("beside an answer of zeros a limit of each element says what may be there") {
  const ExpectedOutput zeros{DType::s8, std::vector<std::byte>(1000), {}};
  std::vector<std::byte> got(1000);
  got[5] = std::byte{1};
  Limits few;
  few.off_by_one = 0.002;
  Limits small;
  small.atol = 1;
  for (const Limits& limits : {few, small}) CHECK_FALSE(miss_of(compare(DType::s8, got, zeros, limits, 0), limits));
  got[7] = std::byte{2};
  for (const Limits& limits : {few, small}) CHECK(miss_of(compare(DType::s8, got, zeros, limits, 0), limits));
}

TEST_CASE("every dtype is read as its values") {
  const std::vector<float> want = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto same = [&](DType dtype, const std::vector<std::byte>& bytes) {
    return compare(dtype, bytes, want).max_abs == 0;
  };
  const auto bytes_of = [](const auto& values) {
    const auto span = std::as_bytes(std::span(values));
    return std::vector<std::byte>(span.begin(), span.end());
  };
  std::vector<std::int32_t> s32(8);
  std::vector<double> f64(8);
  std::vector<std::uint8_t> u8(8), e4m3, e5m2;
  std::vector<std::uint16_t> f16, bf16;
  std::iota(s32.begin(), s32.end(), 0);
  std::iota(f64.begin(), f64.end(), 0);
  std::iota(u8.begin(), u8.end(), 0);
  for (const float value : want) {
    f16.push_back(f16_from_f32(value));
    bf16.push_back(bf16_from_f32(value));
    e4m3.push_back(e4m3_from_f32(value));
    e5m2.push_back(e5m2_from_f32(value));
  }
  CHECK(same(DType::s32, bytes_of(s32)));
  CHECK(same(DType::f64, bytes_of(f64)));
  CHECK(same(DType::f32, bytes_of(want)));
  CHECK(same(DType::u8, bytes_of(u8)));
  CHECK(same(DType::s8, bytes_of(u8)));
  CHECK(same(DType::f16, bytes_of(f16)));
  CHECK(same(DType::bf16, bytes_of(bf16)));
  CHECK(same(DType::e4m3, bytes_of(e4m3)));
  CHECK(same(DType::e5m2, bytes_of(e5m2)));
}

TEST_CASE("outputs of different sizes are an error of the caller") {
  CHECK_THROWS_AS(compare(DType::f16, std::vector<std::byte>(6), std::vector<float>(4)), Error);
}

namespace {

ExpectedOutput expected(const std::vector<float>& values, const std::vector<float>& before = {}) {
  const auto bytes = [](const std::vector<float>& floats) {
    const auto span = std::as_bytes(std::span(floats));
    return std::vector<std::byte>(span.begin(), span.end());
  };
  return {DType::f32, bytes(values), bytes(before)};
}

std::optional<Miss> judged(DType dtype, const std::vector<std::byte>& got, const ExpectedOutput& want,
                           const Limits& limits) {
  return miss_of(compare(dtype, got, want, limits, 0), limits);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("infinities and NaN are right where the reference has them, and nowhere else") {
  std::vector<float> want = oracle(1000);
  want[3] = kInfinity;
  want[4] = -kInfinity;
  want[5] = kNan;
  const auto with = [&](std::size_t at, float value) {
    std::vector<float> got = want;
    got[at] = value;
    return judged(DType::f32, expected(got).bytes, expected(want), kLimits);
  };
  CHECK(!with(0, want[0]));
  CHECK(!with(5, -kNan));
  for (const auto& [at, value] :
       {std::pair(3, -kInfinity), {3, 3e38F}, {4, kNan}, {5, kInfinity}, {5, 0.0F}, {6, kNan}}) {
    INFO(at << ' ' << value);
    const auto miss = with(static_cast<std::size_t>(at), value);
    REQUIRE(miss);
    CHECK(miss->kind == LimitKind::not_finite);
    CHECK(miss->elements == 1);
    CHECK(miss->first == static_cast<std::uint64_t>(at));
  }
  // The other elements are compared as before.
  CHECK(with(7, 100.0F).value_or(Miss{}).kind == LimitKind::relative_l2);
  CHECK(with(5, 0.0F).value_or(Miss{}).reference == "nan");
}

TEST_CASE("what was never written is no NaN of the reference's") {
  const ExpectedOutput want = expected({1, kNan, kNan, 4});
  std::vector<std::byte> got = want.bytes;
  CHECK(!judged(DType::f32, got, want, kLimits));
  std::fill_n(got.begin() + 8, 4, std::byte{0xff});
  const auto miss = judged(DType::f32, got, want, kLimits);
  REQUIRE(miss);
  CHECK(miss->first == 2);
  CHECK(miss->got == "never written");
}

TEST_CASE("a number beyond a narrow format is right as its infinity") {
  const ExpectedOutput want = expected({1, 70000, -70000, 4});
  CHECK(!judged(DType::f16, as_f16({1, kInfinity, -kInfinity, 4}), want, kLimits));
  CHECK(judged(DType::f16, as_f16({1, -kInfinity, -kInfinity, 4}), want, kLimits));
  CHECK(judged(DType::f16, as_f16({kInfinity, kInfinity, -kInfinity, 4}), want, kLimits));
}

TEST_CASE("few elements may be infinite beside the greatest number of their format") {
  std::vector<float> numbers(1000, 1.0F);
  std::fill_n(numbers.begin(), 100, kInfinity);
  const ExpectedOutput want = expected(numbers);
  const auto with_greatest = [&](std::size_t count) {
    std::vector<float> got = numbers;
    std::fill_n(got.begin(), count, 65504.0F);
    return judged(DType::f16, as_f16(got), want, kLimits);
  };
  CHECK(!with_greatest(2));
  CHECK(with_greatest(3).value_or(Miss{}).kind == LimitKind::not_finite);
}

TEST_CASE("an error is measured by what the call is to change, where it changes little") {
  // In bf16 most weights stay, because the step is less than half of their last bit.
  std::vector<float> before = oracle(20000), after = before;
  const auto rounded = [](float value) { return f32_from_bf16(bf16_from_f32(value)); };
  for (float& value : before) value = rounded(value);
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = rounded(before[i] - 1e-5F);
  const auto bf16 = [](const std::vector<float>& values) {
    std::vector<std::byte> bytes(2 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t bits = bf16_from_f32(values[i]);
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
    return bytes;
  };
  const Limits limits{.relative_l2 = 1e-2, .change = 0.05};
  const ExpectedOutput want = expected(after, before);
  CHECK(!judged(DType::bf16, bf16(after), want, limits));
  std::vector<float> uphill = before;
  for (float& value : uphill) value = rounded(value + 1e-5F);
  for (const auto& wrong : {before, uphill}) {
    CHECK(!judged(DType::bf16, bf16(wrong), want, {.relative_l2 = 1e-2}));
    CHECK(judged(DType::bf16, bf16(wrong), want, limits).value_or(Miss{}).kind == LimitKind::change);
  }
  // Roundings that fall the other way are nobody's fault, if they are few.
  std::vector<float> other = after;
  const auto changed = [&](std::size_t i) { return before[i] != after[i]; };
  std::size_t flipped = 0;
  for (std::size_t i = 0; i < other.size() && flipped < 2; ++i)
    if (changed(i)) other[i] = before[i], ++flipped;
  CHECK(compare(DType::bf16, bf16(other), want, limits, 0).change == 0);
}

TEST_CASE("a share of the elements may be off by one step, and none by more") {
  std::vector<std::uint8_t> want(200);
  std::iota(want.begin(), want.end(), std::uint8_t{20});
  const auto bytes = [](const std::vector<std::uint8_t>& values) {
    const auto span = std::as_bytes(std::span(values));
    return std::vector<std::byte>(span.begin(), span.end());
  };
  const auto with = [&](std::size_t off, int by) {
    std::vector<std::uint8_t> got = want;
    for (std::size_t i = 0; i < off; ++i) got[i] = static_cast<std::uint8_t>(got[i] + by);
    return judged(DType::u8, bytes(got), {DType::u8, bytes(want)}, {.off_by_one = 0.01});
  };
  CHECK(!with(2, 1));
  CHECK(!with(2, -1));
  CHECK(with(3, 1).value_or(Miss{}).error == 0.015);
  CHECK(with(1, 2).value_or(Miss{}).elements == 1);
  CHECK(with(1, 2).value_or(Miss{}).kind == LimitKind::off_by_one);
}

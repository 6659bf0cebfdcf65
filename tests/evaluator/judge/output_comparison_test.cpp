// Limits beyond the error over a whole output: rows, exact integers, single elements, strides.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/task/calibration.h"
#include "engine/task/limits.h"
#include "evaluator/device/strided_layout.h"
#include "evaluator/judge/comparison.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Limits limits_of(double relative_l2, double row_l2) {
  Limits limits;
  limits.relative_l2 = relative_l2;
  limits.row_l2 = row_l2;
  return limits;
}

}  // namespace

TEST_CASE("one wrong row among thousands breaks the limit of a row, where that of the whole output holds") {
  constexpr std::size_t kRows = 4096, kRow = 64;
  std::vector<float> want(kRows * kRow);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = static_cast<float>(i % 7) - 3;
  std::vector<float> got = want;
  std::fill_n(got.begin() + 1234 * kRow, kRow, 0.0F);
  const Limits limits = limits_of(0.02, 0.16);
  const Difference difference = compare(DType::f32, bytes_of(got), {DType::f32, bytes_of(want)}, limits, kRow);
  CHECK(difference.relative_l2 < 0.02);
  CHECK_THAT(difference.row_l2, WithinRel(1.0, 0.2));
  CHECK(difference.worst_row == 1234);
  const auto wrong = miss_of(difference, limits);
  REQUIRE(wrong);
  CHECK(wrong->kind == LimitKind::row_l2);
  CHECK(wrong->first == 1234);
  CHECK(wrong->allowed == 0.16);
  CHECK_FALSE(miss_of(compare(DType::f32, bytes_of(want), {DType::f32, bytes_of(want)}, limits, kRow), limits));
}

TEST_CASE("a small row is measured against the mean row, not against itself") {
  std::vector<float> want(100 * 8, 1.0F), got = want;
  std::fill_n(want.begin(), 8, 1e-6F);
  std::fill_n(got.begin(), 8, 2e-6F);
  CHECK(compare(DType::f32, bytes_of(got), {DType::f32, bytes_of(want)}, limits_of(1, 1), 8).row_l2 < 1e-5);
}

TEST_CASE("the rows that count are those that make up the norm") {
  const auto counted = [](const std::vector<float>& want) {
    return compare(DType::f32, bytes_of(want), {DType::f32, bytes_of(want)}, limits_of(1, 1), 8).rows_that_count;
  };
  std::vector<float> want(100 * 8, -1.0F);
  CHECK_THAT(counted(want), WithinRel(100.0, 1e-6));
  std::fill_n(want.begin() + 8, 2 * 8, 1e3F);
  CHECK_THAT(counted(want), WithinRel(2.0, 1e-3));
  CHECK(counted(std::vector<float>(100 * 8)) == 0);
}

TEST_CASE("integers are exact: one that is off by one is named with its value") {
  const std::vector<std::int64_t> want = {5, -7, 1LL << 60, 9};
  std::vector<std::int64_t> got = want;
  got[2] += 1;  // Doubles do not see this.
  const Limits limits = usual_limits(DType::s64);
  CHECK(limits.exact);
  const Difference difference = compare(DType::s64, bytes_of(got), {DType::s64, bytes_of(want)}, limits, 4);
  CHECK(difference.unequal == 1);
  const auto miss = miss_of(difference, limits);
  REQUIRE(miss);
  CHECK(miss->kind == LimitKind::exact);
  CHECK(miss->elements == 1);
  CHECK(miss->first == 2);
  CHECK(miss->got == "1152921504606846977");
  CHECK(miss->reference == "1152921504606846976");
  CHECK_FALSE(miss_of(compare(DType::s64, bytes_of(want), {DType::s64, bytes_of(want)}, limits, 4), limits));
}

TEST_CASE("f64 is compared as f64") {
  const std::vector<double> want = {1.0, 2.0, 3.0};
  std::vector<double> got = want;
  got[0] += 1e-9;
  const Limits limits = usual_limits(DType::f64);
  CHECK(miss_of(compare(DType::f64, bytes_of(got), {DType::f64, bytes_of(want)}, limits, 3), limits));
  got[0] = 1.0 + 1e-15;
  CHECK_FALSE(miss_of(compare(DType::f64, bytes_of(got), {DType::f64, bytes_of(want)}, limits, 3), limits));
}

TEST_CASE("atol and rtol hold for every element") {
  Limits limits;
  limits.atol = 0.1;
  limits.rtol = 0.01;
  const std::vector<float> want = {0, 100, 1};
  const auto reason = [&](const std::vector<float>& got) {
    return miss_of(compare(DType::f32, bytes_of(got), {DType::f32, bytes_of(want)}, limits, 3), limits);
  };
  CHECK_FALSE(reason({0.05F, 101, 1.05F}));
  const auto beyond = reason({0.05F, 102, 1.05F});
  REQUIRE(beyond);
  CHECK(beyond->kind == LimitKind::element);
  CHECK(beyond->elements == 1);
  CHECK(beyond->first == 1);
  CHECK(beyond->atol == 0.1);
  CHECK(beyond->rtol == 0.01);
}

TEST_CASE("an element beyond its limit by the last bit is wrong") {
  Limits limits;
  limits.atol = std::nextafter(2.0, 0.0);
  const std::vector<double> want = {0, 5};
  const auto reason = [&](double first) {
    const std::vector<double> got = {first, 5};
    return miss_of(compare(DType::f64, bytes_of(got), {DType::f64, bytes_of(want)}, limits, 2), limits);
  };
  CHECK(reason(2.0));
  CHECK_FALSE(reason(limits.atol));
}

TEST_CASE("the worst element is known where all are within their limit, and tells how close that is") {
  const Limits limits{.atol = 0.1, .rtol = 0.01};
  const std::vector<float> want = {0, 100, 7};
  const auto difference = [&](std::vector<float> got) {
    return compare(DType::f32, bytes_of(got), {DType::f32, bytes_of(want)}, limits, 3);
  };
  const Difference within = difference({0.05F, 100.88F, 7});
  CHECK(within.beyond == 0);
  CHECK(std::abs(within.worst_element - 0.8) < 1e-4);
  CHECK(closeness(within, limits) == within.worst_element);
  Limits with_rows = limits;
  with_rows.row_l2 = 1;
  CHECK(closeness(within, with_rows) == within.worst_element);
  CHECK_FALSE(miss_of(within, limits));
  const Difference beyond = difference({0.05F, 102.2F, 7.3F});
  CHECK(beyond.beyond == 2);
  CHECK(beyond.first_beyond == 1);
  CHECK(std::abs(beyond.worst_element - 2) < 1e-4);
  CHECK(closeness(beyond, limits) > 1);
  CHECK(miss_of(difference({0.05F, std::numeric_limits<float>::quiet_NaN(), 7}), limits));
}

TEST_CASE("widened limits let single elements err as many times as much, and no more") {
  Limits limits;
  limits.atol = 0.1;
  limits.rtol = 0.01;
  const std::vector<float> want = {0, 100};
  const std::vector<float> got = {0.15F, 103};  // 1.5 and 2.7 times what is allowed
  const Difference difference = compare(DType::f32, bytes_of(got), {DType::f32, bytes_of(want)}, limits, 2);
  CHECK(difference.beyond == 2);
  CHECK(miss_of(difference, widened(limits, 2.5)));
  CHECK_FALSE(miss_of(difference, widened(limits, 3)));
  limits.atol = 0;  // an error where nothing is allowed
  CHECK(miss_of(compare(DType::f32, bytes_of(got), {DType::f32, bytes_of(want)}, limits, 2), widened(limits, 1e6)));
}

TEST_CASE("a tensor with strides is gathered, and what lies between its rows is watched") {
  const StridedLayout layout(std::vector<std::uint64_t>{2, 3}, std::vector<std::uint64_t>{5, 1});
  CHECK(layout.elements() == 6);
  CHECK(layout.extent() == 8);
  const std::vector<float> dense = {1, 2, 3, 4, 5, 6};
  std::vector<std::byte> tensor(8 * sizeof(float), std::byte{0xff});
  layout.scatter(bytes_of(dense), sizeof(float), tensor);
  CHECK(layout.gather(tensor, sizeof(float)) == bytes_of(dense));
  CHECK(layout.first_changed_gap(tensor, sizeof(float), std::byte{0xff}) == tensor.size());
  tensor[4 * sizeof(float) + 1] = std::byte{0};
  CHECK(layout.first_changed_gap(tensor, sizeof(float), std::byte{0xff}) == 4 * sizeof(float) + 1);
}

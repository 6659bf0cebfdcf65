// How numbers of every dtype lie in memory.

#include "evaluator/numbers/elements.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <span>

using namespace evo;

namespace {

double round_trip(DType dtype, double value) {
  std::array<std::byte, 8> bytes{};
  store(dtype, value, bytes.data());
  return as_double(load(dtype, bytes.data()));
}

}  // namespace

TEST_CASE("e2m1 holds eight magnitudes, rounds to even and saturates") {
  for (const double value : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}) {
    CHECK(round_trip(DType::e2m1, value) == value);
    CHECK(round_trip(DType::e2m1, -value) == -value);
  }
  CHECK(round_trip(DType::e2m1, 0.25) == 0);
  CHECK(round_trip(DType::e2m1, 0.75) == 1);
  CHECK(round_trip(DType::e2m1, 2.5) == 2);
  CHECK(round_trip(DType::e2m1, 3.5) == 4);
  CHECK(round_trip(DType::e2m1, 5) == 4);
  CHECK(round_trip(DType::e2m1, -100) == -6);
}

TEST_CASE("two e2m1 share a byte, the first in its low half") {
  std::array<std::byte, 2> bytes{};
  for (std::uint64_t i = 0; i < 4; ++i) store_at(DType::e2m1, bytes.data(), i, static_cast<double>(i + 1));
  CHECK(bytes[0] == std::byte{0x42});  // 2 is 0100, 1 is 0010.
  CHECK(as_double(load_at(DType::e2m1, bytes.data(), 3)) == 4);
  CHECK(bytes_for(DType::e2m1, 3) == 2);
}

TEST_CASE("e8m0 holds powers of two") {
  for (const double value : {0x1p-127, 0.5, 1.0, 64.0, 0x1p127}) CHECK(round_trip(DType::e8m0, value) == value);
  CHECK(round_trip(DType::e8m0, 3) == 2);
  CHECK(std::isnan(round_trip(DType::e8m0, -1)));
}

TEST_CASE("a struct by value is laid out as C does") {
  struct Layout {
    char a;
    double b;
    short c;
  } expected;
  std::memset(&expected, 0, sizeof expected);
  expected.a = 3;
  expected.b = 0.5;
  expected.c = -2;
  const std::vector<std::byte> bytes =
      bytes_of({{{DType::s8, 1}, {std::int64_t{3}}}, {{DType::f64, 1}, {0.5}}, {{DType::s16, 1}, {std::int64_t{-2}}}});
  REQUIRE(bytes.size() == sizeof expected);
  CHECK(std::ranges::equal(bytes, std::as_bytes(std::span(&expected, 1))));
  CHECK(bytes_of({{{DType::u8, 1}, {std::int64_t{1}}}, {{DType::f32, 4}, {1.0, 2.0, 3.0, 4.0}}}).size() == 32);
  CHECK(bytes_of({{{DType::u8, 1}, {std::int64_t{1}}}, {{DType::f32, 3}, {1.0, 2.0, 3.0}}}).size() == 16);
}

#include "engine/expression/interval.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <optional>

using namespace evo::expr;

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> result(Op op, std::initializer_list<std::int64_t> operands) {
  const std::vector<Value> values(operands.begin(), operands.end());
  try {
    return integer(operate(op, values));
  } catch (const Failure&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("an interval holds every result of a binary operator, and is empty when one may fail") {
  constexpr std::array kOps = {Op::add,     Op::subtract,    Op::multiply,   Op::divide,        Op::floor_divide,
                               Op::modulo,  Op::bit_and,     Op::bit_or,     Op::equal,         Op::not_equal,
                               Op::less,    Op::less_equal,  Op::greater,    Op::greater_equal, Op::minimum,
                               Op::maximum, Op::ceil_divide, Op::shift_left, Op::shift_right};
  long checked = 0;
  for (const Op op : kOps) {
    for (std::int64_t a = -5; a <= 5; ++a) {
      for (std::int64_t b = a; b <= 5; ++b) {
        for (std::int64_t c = -5; c <= 5; ++c) {
          for (std::int64_t d = c; d <= 5; ++d) {
            const auto interval = interval_of(op, {a, b}, {c, d});
            bool fails = false;
            bool held = true;
            for (std::int64_t x = a; x <= b; ++x) {
              for (std::int64_t y = c; y <= d; ++y) {
                const auto value = result(op, {x, y});
                fails |= !value;
                held &= !value || !interval || (*value >= interval->lo && *value <= interval->hi);
              }
            }
            INFO(static_cast<int>(op) << " [" << a << "," << b << "] [" << c << "," << d << "]");
            // No interval may promise that nothing fails; for these small operands it is known exactly.
            if (fails == interval.has_value() || !held) FAIL();
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked > 50'000);
}

TEST_CASE("an interval holds every result of a unary operator") {
  for (const Op op : {Op::negate, Op::logical_not, Op::is_pow2, Op::log2}) {
    for (std::int64_t a = -5; a <= 20; ++a) {
      for (std::int64_t b = a; b <= 20; ++b) {
        const auto interval = interval_of(op, {a, b});
        for (std::int64_t x = a; x <= b; ++x) {
          const auto value = result(op, {x});
          INFO(static_cast<int>(op) << " " << x);
          if (!value) REQUIRE(!interval);
          if (interval) REQUIRE((*value >= interval->lo && *value <= interval->hi));
        }
      }
    }
  }
}

TEST_CASE("intervals at the ends of 64 bits stay sound") {
  CHECK(!interval_of(Op::add, {0, kMax}, {0, 1}));
  CHECK(!interval_of(Op::negate, {kMin, 0}));
  CHECK(!interval_of(Op::divide, {kMin, 0}, {-1, -1}));
  CHECK(!interval_of(Op::multiply, {kMin, kMax}, {2, 2}));
  CHECK(!interval_of(Op::shift_left, {1, 1}, {0, 63}));
  const auto remainder = interval_of(Op::modulo, {kMin, kMax}, {kMin, kMin});
  REQUIRE(remainder);
  CHECK(remainder->lo <= *result(Op::modulo, {kMin + 1, kMin}));
  CHECK(remainder->hi == kMax);
  const auto bits = interval_of(Op::bit_or, {0, kMax}, {0, 1});
  REQUIRE(bits);
  CHECK(bits->hi == kMax);
}

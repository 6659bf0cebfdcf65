#include "evaluator/judge/pooled_draws.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "engine/task/calibration.h"

using namespace evo;
using Catch::Matchers::WithinAbs;

namespace {

Limits pooled_limits(double relative_l2, double row_l2) {
  Limits limits;
  limits.relative_l2 = relative_l2;
  limits.row_l2 = row_l2;
  limits.emulated_l2 = limits.emulated_row = {.times = 1.1, .plus = 0};
  return limits;
}

Difference error_of(double relative_l2, double row_l2) {
  Difference difference;
  difference.want_rms = 1;
  difference.cosine = 1;
  difference.relative_l2 = relative_l2;
  difference.row_l2 = row_l2;
  return difference;
}

}  // namespace

TEST_CASE("a draw of few rows is left open where its error is a little above the emulation's limit") {
  const Limits limits = pooled_limits(0.02, 0.05);
  CHECK(PooledDraws::leave_open(error_of(0.024, 0.03), limits, 258, false));
  CHECK_FALSE(PooledDraws::leave_open(error_of(0.024, 0.03), limits, 100'000, false));
  CHECK_FALSE(PooledDraws::leave_open(error_of(0.06, 0.03), limits, 258, false));
  CHECK(PooledDraws::leave_open(error_of(0.015, 0.09), limits, 100'000, false));  // the worst of many rows
  CHECK_FALSE(PooledDraws::leave_open(error_of(0.015, 0.11), limits, 258, false));
  CHECK(PooledDraws::leave_open(error_of(0.06, 0.15), limits, 258, true));
  CHECK_FALSE(PooledDraws::leave_open(error_of(0.09, 0.03), limits, 258, true));

  Limits fixed = limits;
  fixed.emulated_l2 = fixed.emulated_row = {};
  CHECK_FALSE(PooledDraws::leave_open(error_of(0.0201, 0.03), fixed, 258, false));
  Difference broken = error_of(0.021, 0.03);
  broken.not_finite = 1;
  CHECK_FALSE(PooledDraws::leave_open(broken, limits, 258, false));
  CHECK(PooledDraws::further_draws({}, 4) > PooledDraws::further_draws({}, 400));
  CHECK(PooledDraws::further_draws({}, 1'000'000) >= 2);
}

TEST_CASE("a draw of many rows is left open where a few of them make up its norm") {
  const Limits limits = pooled_limits(0.0104, 0.0585);
  Difference heavy = error_of(0.0171, 0.05);  // an honest kernel on rows whose sizes differ by orders of magnitude
  CHECK_FALSE(PooledDraws::leave_open(heavy, limits, 516, false));
  heavy.rows_that_count = 20;
  CHECK(PooledDraws::leave_open(heavy, limits, 516, false));
  CHECK(PooledDraws::further_draws(heavy, 516) > PooledDraws::further_draws({}, 516));
  heavy.relative_l2 = 0.04;  // more than so few rows scatter
  CHECK_FALSE(PooledDraws::leave_open(heavy, limits, 516, false));
}

TEST_CASE("a draw is left open too where the emulation itself errs so much that the cosine follows it") {
  Limits limits = pooled_limits(0.1166, 0.5);
  limits.cosine = smallest_cosine(0.1166);
  Difference honest = error_of(0.1217, 0.3);
  honest.cosine = smallest_cosine(0.1217);
  REQUIRE(honest.cosine < limits.cosine);
  CHECK(PooledDraws::leave_open(honest, limits, 40, false));
  honest.cosine = 0.9;  // far beyond what such an error explains
  CHECK_FALSE(PooledDraws::leave_open(honest, limits, 40, false));
}

TEST_CASE("draws together are wrong when their mean error is above the mean limit by more than chance") {
  const Limits limits = pooled_limits(0.02, 0.05);
  const auto verdict = [&](std::initializer_list<double> errors) {
    PooledDraws draws;
    for (const double error : errors)
      draws.add({.shape = "s", .regime = "r", .output = "o"}, error_of(error, 0.03), limits, error > 0.02);
    return draws.mismatch();
  };
  CHECK_FALSE(verdict({0.019, 0.018, 0.02}));
  CHECK_FALSE(verdict({0.024, 0.017, 0.018, 0.019, 0.021, 0.016}));
  CHECK_FALSE(verdict({0.028, 0.015, 0.016, 0.03, 0.014, 0.022}));  // The mean is above, and scatters as much.
  const auto wrong = verdict({0.024, 0.022, 0.023, 0.0225, 0.0235, 0.022});
  REQUIRE(wrong);
  CHECK(wrong->shape == "s");
  CHECK(wrong->regime == "r");
  CHECK(wrong->output == "o");
  CHECK(wrong->found == MismatchFound::on_average);
  CHECK(wrong->draws == 6);
  CHECK_THAT(wrong->mean_l2, WithinAbs(0.02283, 1e-5));
  CHECK_THAT(wrong->mean_l2_limit, WithinAbs(0.02, 1e-9));
  CHECK(verdict({0.021}));
}

TEST_CASE("rows and pools count for themselves") {
  const Limits limits = pooled_limits(0.02, 0.05);
  PooledDraws draws;
  for (int i = 0; i < 4; ++i) {
    draws.add({.shape = "a"}, error_of(0.01, 0.04), limits, false);
    draws.add({.shape = "b"}, error_of(0.01, 0.06), limits, true);
  }
  const auto wrong = draws.mismatch();
  REQUIRE(wrong);
  CHECK(wrong->shape == "b");
  PooledDraws never_open;
  never_open.add({.shape = "c"}, error_of(0.03, 0.06), limits, false);
  CHECK_FALSE(never_open.mismatch());
}

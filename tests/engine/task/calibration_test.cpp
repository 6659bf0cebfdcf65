#include "engine/task/calibration.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

using namespace evo;
using Catch::Matchers::WithinAbs;

TEST_CASE("limits are the floor times the factor: relative errors grow by it, angles too") {
  const Limits limits = limits_from_floor(0.02, 0.999, 1.5);
  CHECK_THAT(limits.relative_l2, WithinAbs(0.03, 1e-12));
  CHECK_THAT(limits.cosine, WithinAbs(1 - 0.001 * 2.25, 1e-12));
}

TEST_CASE("limits that follow the emulation are a multiple of its error, and are not widened") {
  Limits limits{.relative_l2 = 0.04, .cosine = 0.998};
  limits.emulated_l2 = {.times = 1.1, .plus = 0.001};
  limits.emulated_row = {.times = 1.25, .plus = 0.005};
  const Limits here = following(limits, {.relative_l2 = 0.02, .row_l2 = 0.04});
  CHECK_THAT(here.relative_l2, WithinAbs(0.023, 1e-12));
  CHECK_THAT(here.row_l2, WithinAbs(0.055, 1e-12));
  CHECK(here.cosine == 0.998);
  // An emulation that errs by 0.12 has a cosine of 0.993 at most: no kernel is asked for more.
  const Limits rough = following(limits, {.relative_l2 = 0.12, .row_l2 = 0.25});
  CHECK_THAT(rough.cosine, WithinAbs(std::sqrt(1 - 0.133 * 0.133), 1e-12));
  const Limits wider = widened(here, 2);
  CHECK(wider.relative_l2 == here.relative_l2);
  CHECK(wider.row_l2 == here.row_l2);
  CHECK(wider.cosine < 0.998);

  const Limits fixed = following({.relative_l2 = 0.04, .row_l2 = 0.3}, {.relative_l2 = 0.02, .row_l2 = 0.04});
  CHECK(fixed.relative_l2 == 0.04);
  CHECK(fixed.row_l2 == 0.3);
  CHECK(widened(fixed, 2).relative_l2 == 0.08);
}

TEST_CASE("limits admit what an honest kernel errs by, where they are tighter") {
  const Limits limits{.relative_l2 = 1e-4, .cosine = 0.999999, .row_l2 = 8e-4, .atol = 1e-4};
  const Limits wider = admitting(limits, {.relative_l2 = 2e-4, .row_l2 = 4e-4}, 1.5);
  CHECK_THAT(wider.relative_l2, WithinAbs(3e-4, 1e-12));
  CHECK(wider.row_l2 == 8e-4);
  CHECK(wider.cosine == 0.999999);  // An error of 3e-4 has a cosine of 0.99999996.
  CHECK(wider.atol == limits.atol);
  CHECK(wider.element_times == 1);
  const Limits rough = admitting(limits, {.relative_l2 = 2e-2, .row_l2 = 4e-2}, 1.5);
  CHECK_THAT(rough.row_l2, WithinAbs(6e-2, 1e-12));
  CHECK_THAT(rough.cosine, WithinAbs(1 - 0.03 * 0.03 / 2, 1e-12));
  const Limits unset = admitting({.atol = 1}, {.relative_l2 = 0.1, .row_l2 = 0.2}, 1.5);
  CHECK(unset.relative_l2 == 0);
  CHECK(unset.row_l2 == 0);
  CHECK(unset.cosine == 0);
}

TEST_CASE("an emulation whose error has no angle leaves an honest kernel as much error across its results") {
  const Limits limits = limits_from_floor(0.001, 1, 1.5);
  CHECK_THAT(limits.cosine, WithinAbs(1 - 0.0015 * 0.0015 / 2, 1e-12));
  CHECK(limits.cosine < 1);
}

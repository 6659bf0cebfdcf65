#include "engine/task/calibration.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

using namespace evo;
using Catch::Matchers::WithinAbs;

TEST_CASE("limits are the floor times the factor: relative errors grow by it, angles too") {
  const Limits limits = limits_from_floor(0.02, 0.999, 1.5);
  CHECK_THAT(limits.relative_l2, WithinAbs(0.03, 1e-12));
  CHECK_THAT(limits.cosine, WithinAbs(1 - 0.001 * 2.25, 1e-12));
}

TEST_CASE("an emulation whose error has no angle leaves an honest kernel as much error across its results") {
  const Limits limits = limits_from_floor(0.001, 1, 1.5);
  CHECK_THAT(limits.cosine, WithinAbs(1 - 0.0015 * 0.0015 / 2, 1e-12));
  CHECK(limits.cosine < 1);
}

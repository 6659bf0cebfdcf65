#include "engine/base/mean.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace evo;
using Catch::Approx;

TEST_CASE("the geometric mean of latencies does not depend on their scale") {
  CHECK(geometric_mean({}) == 1);
  CHECK(geometric_mean(std::vector{2.0, 8.0}) == Approx(4.0));
  CHECK(geometric_mean(std::vector{2e3, 8e-3}) == Approx(4.0));
}

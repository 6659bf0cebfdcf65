#include "evaluator/judge/honest_average.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace evo;

namespace {

constexpr double kLimit = 1e-4;

Mismatch draw(const std::string& regime, double error, double limit = kLimit) {
  return {.shape = "N=8",
          .regime = regime,
          .output = "y",
          .miss = {.kind = LimitKind::relative_l2, .error = error, .allowed = limit}};
}

/// Ten regimes of three draws each.
HonestAverage average_of(double error_of_few, int few, double error_of_others) {
  HonestAverage average;
  for (int regime = 0; regime < 10; ++regime)
    for (int seed = 0; seed < 3; ++seed)
      average.add(draw("r" + std::to_string(regime), regime < few ? error_of_few : error_of_others), 1000);
  return average;
}

}  // namespace

TEST_CASE("errors below what honest arithmetic errs by pass, and those above it in most regimes do not") {
  CHECK_FALSE(average_of(0.7 * kLimit, 10, 0).mismatch());
  const auto wrong = average_of(1.3 * kLimit, 10, 0).mismatch();
  REQUIRE(wrong);
  CHECK(wrong->found == MismatchFound::on_average);
  CHECK(wrong->draws == 30);
  CHECK(wrong->mean_l2 > wrong->mean_l2_limit);
  CHECK(average_of(1.3 * kLimit, 8, 0.5 * kLimit).mismatch());
}

TEST_CASE("two regimes in which a kernel errs far more say nothing of its average") {
  CHECK_FALSE(average_of(100 * kLimit, 2, 0.7 * kLimit).mismatch());
}

TEST_CASE("errors in a third of the regimes are too large if they are far above the others' limits") {
  CHECK(average_of(10 * kLimit, 4, 0).mismatch());
  CHECK_FALSE(average_of(1.2 * kLimit, 4, 0.5 * kLimit).mismatch());
}

TEST_CASE("a draw of more elements counts more") {
  HonestAverage average;
  for (int regime = 0; regime < 10; ++regime) {
    average.add(draw("r" + std::to_string(regime), 3 * kLimit), 10);
    average.add(draw("r" + std::to_string(regime), 0.5 * kLimit), 10'000);
  }
  CHECK_FALSE(average.mismatch());
}

TEST_CASE("of few regimes the draws count, and three draws tell nothing") {
  HonestAverage average;
  for (int seed = 0; seed < 3; ++seed) average.add(draw("normal", 5 * kLimit), 1000);
  CHECK_FALSE(average.mismatch());
  average.add(draw("normal", 5 * kLimit), 1000);
  CHECK(average.mismatch());
}

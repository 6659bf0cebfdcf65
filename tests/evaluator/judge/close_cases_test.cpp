#include "evaluator/judge/close_cases.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace evo;

namespace {

/// Cases of one shape, each of a regime of its own.
CasePlan plan_of_regimes(int cases) {
  CasePlan plan;
  for (int i = 0; i < cases; ++i) {
    Case& one = plan.cases.emplace_back();
    one.shape.name = "s";
    one.regime.name = "r" + std::to_string(i);
  }
  return plan;
}

std::vector<std::pair<std::size_t, int>> draws_of(const CloseCases& close, const CasePlan& plan,
                                                  std::uint64_t output_bytes = 1) {
  std::vector<std::pair<std::size_t, int>> draws;
  for (const auto& [number, seeds] : close.further_draws(plan, [&](const Case&) { return output_bytes; }))
    draws.emplace_back(number, seeds);
  return draws;
}

using Draws = std::vector<std::pair<std::size_t, int>>;

}  // namespace

TEST_CASE("the two cases that came closest to a limit are drawn anew, and no others") {
  CloseCases close;
  close.add(0, 0.92, 0);
  close.add(1, 0.89, 0);
  close.add(2, 0.99, 0);
  close.add(3, 0.95, 0);
  CHECK(draws_of(close, plan_of_regimes(4)) == Draws{{2, 4}, {3, 4}});
}

TEST_CASE("each case that was set aside or left open is drawn anew") {
  CloseCases close;
  close.add(0, 1.1, 0);
  close.add(1, 1.3, 0);
  close.add(2, 1.2, 9);
  close.add(3, 0.99, 0);
  CHECK(draws_of(close, plan_of_regimes(4)) == Draws{{1, 4}, {2, 9}, {0, 4}});
}

TEST_CASE("each shape and regime is drawn anew once") {
  CasePlan plan = plan_of_regimes(3);
  plan.cases[1].regime = plan.cases[0].regime;
  CloseCases close;
  close.add(0, 0.98, 0);
  close.add(1, 0.99, 0);
  close.add(2, 0.95, 0);
  CHECK(draws_of(close, plan) == Draws{{1, 4}, {2, 4}});
}

TEST_CASE("large outputs get fewer further seeds, at least one") {
  CloseCases close;
  close.add(0, 0.95, 0);
  CHECK(draws_of(close, plan_of_regimes(1), 16 << 20) == Draws{{0, 2}});
  CHECK(draws_of(close, plan_of_regimes(1), 64 << 20) == Draws{{0, 1}});
}

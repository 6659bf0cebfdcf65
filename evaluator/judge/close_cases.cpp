#include "evaluator/judge/close_cases.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace evo {
namespace {

/// An error of more than this part of its limit is checked on further seeds, in so many cases.
constexpr double kClose = 0.9;
constexpr std::size_t kConfirmedCases = 2;

/// How many further seeds a case gets whose error came close to a limit. Over tens of millions of outputs the error
/// hardly depends on the seed, and each run costs a tenth of a second or more: there one seed is enough.
int more_seeds(std::uint64_t output_bytes) {
  constexpr std::uint64_t kMost = 4;
  constexpr std::uint64_t kBytes = 32 << 20;  // of outputs, all seeds together
  return static_cast<int>(std::clamp<std::uint64_t>(kBytes / output_bytes, 1, kMost));
}

}  // namespace

void CloseCases::add(std::size_t number, double closeness, int further_draws) {
  if (closeness > kClose) close_.push_back({number, closeness, further_draws});
}

std::vector<CloseCases::Draws> CloseCases::further_draws(
    const CasePlan& plan, const std::function<std::uint64_t(const Case&)>& output_bytes) const {
  std::vector<Close> closest = close_;
  std::ranges::stable_sort(closest, std::ranges::greater(), &Close::closeness);
  std::set<std::pair<std::string, std::string>> confirmed;  // shape and regime
  std::vector<Draws> draws;
  for (const Close& close : closest) {
    const Case& one = plan.cases[close.number];
    if (confirmed.size() >= kConfirmedCases && close.closeness <= 1) break;
    if (!confirmed.emplace(one.shape.name, one.regime.name).second) continue;
    draws.push_back({close.number, close.further_draws > 0 ? close.further_draws : more_seeds(output_bytes(one))});
  }
  return draws;
}

}  // namespace evo

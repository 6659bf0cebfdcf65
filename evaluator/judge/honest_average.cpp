#include "evaluator/judge/honest_average.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

namespace evo {
namespace {

/// Where there are fewer regimes their draws count one by one; fewer draws tell nothing.
constexpr std::size_t kFewRegimes = 5, kFewDraws = 4;
/// The worst of all that are left out.
constexpr std::size_t kLeftOut = 5;
/// Standard errors of a share of a half.
constexpr double kDeviations = 1.2;

}  // namespace

void HonestAverage::add(Mismatch draw, double elements) {
  Output& output = outputs_[draw.output];
  const double error = draw.miss.error, limit = draw.miss.allowed;
  const Draws weighed{elements * error * error, elements * limit * limit};
  Draws& regime = output.regimes[draw.regime];
  regime.errors += weighed.errors;
  regime.limits += weighed.limits;
  output.draws.push_back(weighed);
  output.errors += error;
  output.limits += limit;
  if (!output.worst || error * output.worst->miss.allowed > output.worst->miss.error * limit)
    output.worst = std::move(draw);
}

bool HonestAverage::exceed_together(std::vector<Draws> draws) {
  if (draws.size() < kFewDraws) return false;
  const auto all = static_cast<double>(draws.size());
  const auto beyond = static_cast<double>(std::ranges::count_if(draws, &Draws::exceed));
  if (beyond > all / 2 + kDeviations * std::sqrt(all) / 2) return true;
  std::ranges::sort(draws, std::ranges::greater(), [](const Draws& one) { return one.errors / one.limits; });
  Draws sum;
  for (std::size_t i = (draws.size() + kLeftOut - 1) / kLeftOut; i < draws.size(); ++i) {
    sum.errors += draws[i].errors;
    sum.limits += draws[i].limits;
  }
  return sum.exceed();
}

std::optional<Mismatch> HonestAverage::mismatch() const {
  for (const auto& [name, output] : outputs_) {
    std::vector<Draws> counted = output.draws;
    if (output.regimes.size() >= kFewRegimes) {
      counted.clear();
      for (const auto& [regime, draws] : output.regimes) counted.push_back(draws);
    }
    if (!exceed_together(std::move(counted))) continue;
    Mismatch mismatch = *output.worst;
    mismatch.found = MismatchFound::on_average;
    mismatch.draws = static_cast<std::uint64_t>(output.draws.size());
    mismatch.mean_l2 = output.errors / static_cast<double>(output.draws.size());
    mismatch.mean_l2_limit = output.limits / static_cast<double>(output.draws.size());
    return mismatch;
  }
  return std::nullopt;
}

}  // namespace evo

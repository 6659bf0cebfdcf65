#include "engine/search/share_bandit.h"

#include <cmath>
#include <initializer_list>

namespace evo {
namespace {

constexpr double kRemembered = 0.99;  ///< Of an answer's weight, at each answer that follows: some 100 answers count.
constexpr double kPrior = 2;          ///< Draws at the rate of both sources together, added to each.

/// A beta distribution of a source's rate.
struct Rate {
  double mean = 0;
  double variance = 0;
};

Rate rate_of(double brought, double all, double common) {
  const double mean = (brought + kPrior * common) / (all + kPrior);
  return {mean, mean * (1 - mean) / (all + kPrior + 1)};
}

}  // namespace

void ShareBandit::tell(Source source, bool brought) {
  for (Draws* draws : {&strategy_, &proposer_}) {
    draws->brought *= kRemembered;
    draws->all *= kRemembered;
  }
  Draws& draws = source == Source::proposer ? proposer_ : strategy_;
  draws.all += 1;
  if (brought) draws.brought += 1;
}

double ShareBandit::share() const {
  const double common = (strategy_.brought + proposer_.brought + 1) / (strategy_.all + proposer_.all + 2);
  const Rate strategy = rate_of(strategy_.brought, strategy_.all, common);
  const Rate proposer = rate_of(proposer_.brought, proposer_.all, common);
  // Both rates as normal distributions.
  const double distance = (proposer.mean - strategy.mean) / std::sqrt(proposer.variance + strategy.variance);
  const double better = 0.5 * std::erfc(-distance / std::sqrt(2.0));
  return share_.least + (share_.most - share_.least) * better;
}

}  // namespace evo

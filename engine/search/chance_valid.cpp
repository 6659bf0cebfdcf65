#include "engine/search/chance_valid.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace evo {
namespace {

/// Answers from which on a forest is fitted.
constexpr std::size_t kEnoughAnswers = 16;
/// Answers that the forest learns from at most, the latest ones, so that its cost does not grow with the run.
constexpr std::size_t kAnswersKept = 1024;
/// The least chance: of a genome that is like failures alone.
constexpr double kSlightest = 0.02;
/// A failure's share of the cases counts to this power: one that failed in the last case is still far from valid.
constexpr double kDistance = 3;

}  // namespace

ChanceValid::ChanceValid(const Space& space) : failed_after_(space, 0, kAnswersKept) {}

void ChanceValid::observe(const Genome& genome, const Answer& answer) {
  failed_after_.observe(genome, {}, answer.latency_us ? std::nullopt : std::optional(answer.cases));
  ++(answer.latency_us ? valid_ : failed_);
  learnt_ = false;
}

void ChanceValid::retract(const Genome& genome, const Answer& failure) {
  failed_after_.revise(genome, {}, failure.cases);
  --valid_;
  ++failed_;
  learnt_ = false;
}

void ChanceValid::learn() {
  std::size_t most = 0;
  for (const auto& cases : failed_after_.outcomes()) most = std::max(most, cases.value_or(0));
  std::vector<float> targets;
  for (const auto& cases : failed_after_.outcomes()) {
    const double share = cases ? static_cast<double>(*cases) / static_cast<double>(most + 1) : 1;
    targets.push_back(static_cast<float>(std::pow(share, kDistance)));
  }
  failed_after_.fit(targets);
  learnt_ = true;
}

double ChanceValid::of(const Genome& genome) {
  if (failed_ == 0 || failed_after_.outcomes().size() < kEnoughAnswers) return 1;
  if (!learnt_) learn();
  return kSlightest + (1 - kSlightest) * failed_after_.predict(genome, {}).mean;
}

}  // namespace evo

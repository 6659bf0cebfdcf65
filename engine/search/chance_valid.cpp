#include "engine/search/chance_valid.h"

#include <algorithm>
#include <cmath>

#include "engine/base/rng.h"
#include "engine/space/space.h"

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

ChanceValid::ChanceValid(const Space& space) : space_(space), encoding_(space), forest_(encoding_, Forest::Options()) {}

void ChanceValid::observe(const Genome& genome, const Answer& answer) {
  std::vector<float> row(encoding_.columns());
  encoding_.encode(space_.point(genome), row.data());
  rows_.insert(rows_.end(), row.begin(), row.end());
  failed_after_.push_back(answer.latency_us ? std::nullopt : std::optional(answer.cases));
  ++(answer.latency_us ? valid_ : failed_);
  if (failed_after_.size() > kAnswersKept) {
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(encoding_.columns()));
    failed_after_.pop_front();
  }
  learnt_ = false;
}

void ChanceValid::learn() {
  std::size_t most = 0;
  for (const auto& cases : failed_after_) most = std::max(most, cases.value_or(0));
  std::vector<float> targets;
  for (const auto& cases : failed_after_) {
    const double share = cases ? static_cast<double>(*cases) / static_cast<double>(most + 1) : 1;
    targets.push_back(static_cast<float>(std::pow(share, kDistance)));
  }
  const std::vector<float> rows(rows_.begin(), rows_.end());
  Rng rng(valid_ + failed_);
  forest_.fit(rows, targets, rng);
  learnt_ = true;
}

double ChanceValid::of(const Genome& genome) {
  if (failed_ == 0 || failed_after_.size() < kEnoughAnswers) return 1;
  if (!learnt_) learn();
  std::vector<float> row(encoding_.columns());
  encoding_.encode(space_.point(genome), row.data());
  return kSlightest + (1 - kSlightest) * forest_.predict(row.data()).mean;
}

}  // namespace evo

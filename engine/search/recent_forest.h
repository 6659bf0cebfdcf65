#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/rng.h"
#include "engine/space/space.h"
#include "engine/strategy/forest.h"
#include "engine/task/genome.h"

namespace evo {

/// What the latest genomes have shown when they were measured, and a forest that learns it from their genes.
template <typename Outcome>
class RecentForest {
 public:
  /// `space` must outlive it. `traits`: numbers beside the genes. `kept`: genomes at most, so that the cost of a fit
  /// does not grow with the run.
  RecentForest(const Space& space, std::size_t traits, std::size_t kept)
      : space_(space), traits_(traits), kept_(kept), encoding_(space, traits), forest_(encoding_, Forest::Options()) {}

  void observe(const Genome& genome, std::span<const float> traits, Outcome outcome) {
    const std::vector<float> row = row_of(genome, traits);
    rows_.insert(rows_.end(), row.begin(), row.end());
    outcomes_.push_back(std::move(outcome));
    if (outcomes_.size() > kept_) {
      rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(encoding_.columns()));
      outcomes_.pop_front();
    }
    ++observed_;
  }

  /// Replaces the outcomes of a genome that are kept.
  void revise(const Genome& genome, std::span<const float> traits, const Outcome& outcome) {
    const std::vector<float> row = row_of(genome, traits);
    auto kept = rows_.begin();
    for (Outcome& known : outcomes_) {
      if (std::equal(row.begin(), row.end(), kept)) known = outcome;
      kept += static_cast<std::ptrdiff_t>(encoding_.columns());
    }
  }

  /// Of those that are kept, the oldest first.
  const std::deque<Outcome>& outcomes() const { return outcomes_; }
  /// How many were observed in all.
  std::uint64_t observed() const { return observed_; }

  /// `targets`: one for each outcome.
  void fit(std::span<const float> targets) {
    const std::vector<float> rows(rows_.begin(), rows_.end());
    Rng rng(observed_);
    forest_.fit(rows, targets, rng);
  }
  bool is_fitted() const { return !forest_.empty(); }
  Prediction predict(const Genome& genome, std::span<const float> traits) const {
    return forest_.predict(row_of(genome, traits).data());
  }

 private:
  std::vector<float> row_of(const Genome& genome, std::span<const float> traits) const {
    std::vector<float> row(encoding_.columns());
    encoding_.encode(space_.point(genome), row.data());
    std::ranges::copy(traits.first(std::min(traits.size(), traits_)), row.end() - static_cast<std::ptrdiff_t>(traits_));
    return row;
  }

  const Space& space_;
  const std::size_t traits_;
  const std::size_t kept_;
  const Encoding encoding_;
  Forest forest_;
  std::deque<float> rows_;  // encoding_.columns() numbers for each outcome
  std::deque<Outcome> outcomes_;
  std::uint64_t observed_ = 0;
};

}  // namespace evo

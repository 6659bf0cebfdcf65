#pragma once

#include <cstddef>
#include <optional>

#include "engine/search/recent_forest.h"
#include "engine/strategy/strategy.h"
#include "engine/task/genome.h"

namespace evo {

/// The chance that a genome is valid, learnt from the genes of those that were measured. No latency predictor foresees
/// a wrong answer, and kernels that leave out what the right answer needs are the fast ones.
class ChanceValid {
 public:
  /// `space` must outlive it.
  explicit ChanceValid(const Space& space);

  /// `answer`: to the genome, when it was measured.
  void observe(const Genome& genome, const Answer& answer);
  /// A genome that was valid has turned out to fail.
  void retract(const Genome& genome, const Answer& failure);
  /// Whether genomes were measured and all of them failed.
  bool all_failed() const { return failed_ > 0 && valid_ == 0; }
  /// Above 0, and 1 at most. 1 until something has failed and there are enough measurements. A failure counts the more
  /// the further it came, so that genomes differ before one is valid.
  double of(const Genome& genome);

 private:
  void learn();

  RecentForest<std::optional<std::size_t>> failed_after_;  // cases; empty: valid
  std::size_t valid_ = 0;
  std::size_t failed_ = 0;
  bool learnt_ = true;  // whether the forest is fitted to all answers
};

}  // namespace evo

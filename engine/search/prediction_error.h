#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/strategy/forest.h"
#include "engine/task/genome.h"

namespace evo {

/// How far predicted latencies are off, learnt from the genomes that were measured. Models err alike about genomes
/// that are alike: one of a GPU leaves out the same stall in all that have it. A search that trusts such a model as it
/// is goes where the model is wrong.
class PredictionError {
 public:
  /// `space` must outlive it.
  explicit PredictionError(const Space& space);

  /// Whether any was measured.
  bool knows_any() const { return measured_ > 0; }
  /// `measured_us`: none where it failed though it was predicted a latency, as a wrong answer does.
  void observe(const Genome& genome, double predicted, std::optional<double> measured_us);
  /// What is to be measured of a genome. Empty, or infinite, where what is predicted is.
  std::optional<double> expected_us(const Genome& genome, std::optional<double> predicted);
  /// measured/predicted as it is to be expected of a genome: the median of all until there are enough to learn from,
  /// then what a forest has learnt from the genes, less half of what its trees disagree by, so that what is little
  /// known is tried. A failure counts as twice the median. 1 when none is known.
  double ratio(const Genome& genome);

 private:
  std::vector<float> row_of(const Genome& genome) const;
  void learn();

  const Space& space_;
  const Encoding encoding_;
  Forest forest_;
  std::deque<float> rows_;                    // of the latest observations, encoding_.columns() numbers each
  std::deque<std::optional<double>> ratios_;  // measured/predicted; none: failed
  std::size_t measured_ = 0;
  double median_ = 1;
  std::uint64_t observed_ = 0;
  bool learnt_ = true;  // all that was observed
};

}  // namespace evo

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/result/mismatch.h"

namespace evo {

/// Whether a candidate errs more than honest arithmetic on the same inputs (engine/task/calibration.h), over all draws
/// together. One draw of few elements tells little: in a narrow type errors are single roundings that fall the other
/// way. A regime may be ill-conditioned, too. So the squares of all draws of a regime are added up, and the error is
/// too large if that is so in most regimes, or in all together without the worst fifth of them. Used by one thread.
class HonestAverage {
 public:
  /// Takes a draw of an output of so many elements. `draw.miss`: its error and the limit.
  void add(Mismatch draw, double elements);
  /// The first output that errs too much: what was wrong with its worst draw, and the means.
  std::optional<Mismatch> mismatch() const;

 private:
  struct Draws {
    double errors = 0, limits = 0;  ///< Sums of squares; an element counts as much as another.
    bool exceed() const { return errors > limits; }
  };
  static bool exceed_together(std::vector<Draws> draws);
  struct Output {
    std::map<std::string, Draws> regimes;
    std::vector<Draws> draws;
    std::optional<Mismatch> worst;
    double errors = 0, limits = 0;  ///< Sums over the draws.
  };
  std::map<std::string, Output> outputs_;
};

}  // namespace evo

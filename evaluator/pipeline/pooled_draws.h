#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/task/task.h"
#include "evaluator/pipeline/comparison.h"

namespace evo {

/// Limits that follow the emulation, held over several draws together. On one draw of few rows an honest kernel's error
/// scatters around the emulation's, because the two round different values. If a draw exceeds its limit by no more than
/// that scatter, further draws are made. The mean error must then not exceed the mean limit by more than chance
/// explains. Used by one thread.
class PooledDraws {
 public:
  /// Whether only the mean of several draws can decide: the limits follow the emulation, and are exceeded by no more
  /// than the scatter of so many rows, few of which may count. `further`: this is one of the further draws, so that the
  /// mean decides unless the error is hopeless.
  static bool leave_open(const Difference& difference, const Limits& limits, std::uint64_t rows, bool further);
  /// How many further draws make that scatter small.
  static int further_draws(const Difference& difference, std::uint64_t rows);

  /// Takes a draw into the mean of its pool: "shape S, regime R: output". `open`: what is wrong with it where it was
  /// left open, else empty.
  void add(const std::string& pool, const Difference& difference, const Limits& limits, const std::string& open);
  /// The first pool that was left open and does not hold its limits, with what was wrong and the means.
  std::optional<std::string> why_wrong() const;

 private:
  /// Errors beside their limits.
  struct Excess {
    int draws = 0;
    double errors = 0, limits = 0, squares = 0;  ///< Sums over the draws; of the squares of error - limit.
    void add(double error, double limit);
    double mean_error() const { return errors / draws; }
    double mean_limit() const { return limits / draws; }
    /// The mean error is above the mean limit by more than chance explains.
    bool exceeds() const;
  };
  struct Pool {
    Excess l2;
    Excess row;  ///< Of the worst rows.
    std::string open;
  };
  std::map<std::string, Pool> pools_;
};

}  // namespace evo

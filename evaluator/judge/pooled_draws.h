#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "engine/task/task.h"
#include "evaluator/judge/comparison.h"

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

  /// Takes a draw into the mean of its pool: that of its shape, regime and output. `open`: whether it was left open;
  /// the mismatch then says what is wrong with it.
  void add(const Mismatch& draw, const Difference& difference, const Limits& limits, bool open);
  /// The first pool that was left open and does not hold its limits: what was wrong with a draw of it, and the means.
  std::optional<Mismatch> mismatch() const;

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
    std::optional<Mismatch> open;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Pool> pools_;  ///< By shape, regime and output.
};

}  // namespace evo

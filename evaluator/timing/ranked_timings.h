#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"

namespace evo {

/// The candidate that another one has to be faster than.
struct ToBeat {
  double us = 0;
  bool at_full_clock = false;  ///< No power limit slowed it down.
};

/// What later timings can do with those of valid candidates: how fast the best are, and who ran at full clock. The
/// pipeline's mutex guards it.
class RankedTimings {
 public:
  explicit RankedTimings(double full_mhz) : full_mhz_(full_mhz) {}

  /// A valid candidate, by its source.
  void add(const std::string& source_key, const Evaluation& evaluation);
  /// One that was found wrong.
  void remove(const std::string& source_key);

  /// The slowest that would be an elite; empty while there are fewer.
  std::optional<ToBeat> to_beat() const;
  /// Whether no power limit slowed this source down.
  bool ran_at_full_clock(const std::string& source_key) const { return at_full_clock_.contains(source_key); }

 private:
  double full_mhz_;
  struct Ranked {
    ToBeat time;
    std::string source_key;
  };
  std::vector<Ranked> fastest_;  ///< In order; no more than kEliteCount.
  std::set<std::string> at_full_clock_;
};

}  // namespace evo

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace evo {

/// Tells from a search's own record of improvements how likely more evaluations bring more. It was fitted to replayed
/// searches of recorded spaces (tests/bench/stopping_rule.py, docs/studies/search.md).
class Settling {
 public:
  /// An improvement that counts, as a part of the latency.
  static constexpr double kGain = 0.01;
  /// A search that ends itself does so below this chance.
  static constexpr double kUnlikely = 0.1;

  /// One answer, in the order of the answers; without a latency it failed.
  void observe(std::uint64_t ticket, std::optional<double> latency_us);
  /// That one has turned out to be wrong.
  void retract(std::uint64_t ticket);

  /// The chance that as many evaluations again make the best faster by kGain. Empty while there is too little to tell.
  std::optional<double> chance() const;

 private:
  struct Answered {
    std::uint64_t ticket = 0;
    double latency_us = 0;  // infinite where it failed
  };
  std::vector<Answered> answered_;
};

}  // namespace evo

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace evo {

/// Remembers which predictions a search did not wait for, so that it makes the same choices when it is resumed.
/// Implementations: the SQLite store, fakes.
class LatePredictions {
 public:
  /// A choice of what is measured next.
  struct Choice {
    std::uint64_t number = 0;  ///< 0, 1, 2, ... in the order made.
    std::uint64_t ticket = 0;  ///< Of the next proposal that is asked for.
  };
  using Tickets = std::vector<std::uint64_t>;  ///< Of the genomes whose predictions were late, ascending.

  virtual ~LatePredictions() = default;
  /// The predictions that this choice did not wait for in the recorded run. Nothing for a new choice.
  virtual std::optional<Tickets> recall(const Choice& choice) = 0;
  /// Commits what a new choice goes without; at least one.
  virtual void record(const Choice& choice, const Tickets& late) = 0;
};

}  // namespace evo

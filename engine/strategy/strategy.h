#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/space/space.h"
#include "engine/task/genome.h"

namespace evo {

inline constexpr std::size_t kEliteCount = 3;

/// A genome to evaluate and where it came from.
struct Proposal {
  std::uint64_t ticket = 0;  ///< 0, 1, 2, ... in ask order.
  Genome genome;
  std::string op;                      ///< "random", "mutate_one", "crossover", ...: the operator.
  std::vector<std::uint64_t> parents;  ///< Tickets.
};

/// What a strategy is told: a latency, or that the genome failed.
struct Answer {
  std::uint64_t ticket = 0;
  std::optional<double> latency_us;
};

/// Ask / tell. Deterministic: the same space, seed and sequence of calls give the same proposals, so answers
/// must be told in ask order.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The next genome, never one asked before; empty when the space is exhausted, or who helps to choose was told that
  /// the search is to end.
  virtual std::optional<Proposal> ask() = 0;
  /// The same for a legal genome that somebody else has chosen (a seed): from here on it is a proposal like its own.
  /// Empty when it was asked before. `parents`: tickets that were told.
  virtual std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) = 0;
  virtual void tell(const Answer& answer) = 0;
};

/// Names: those of strategy_names(), "evolve" being the default, and "evolve:NAME=VALUE:..." with other figures
/// (engine/strategy/evolve_tuning.h). Throws usage_error listing them. `space` must outlive the strategy.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const Space& space, std::uint64_t seed);
std::vector<std::string> strategy_names();

}  // namespace evo

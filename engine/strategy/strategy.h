#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/space/space.h"
#include "engine/task/genome.h"

namespace evo {

/// A genome to evaluate and where it came from.
struct Proposal {
  std::uint64_t ticket = 0;  ///< 0, 1, 2, ... in ask order.
  Genome genome;
  std::string op;                      ///< "random", "mutate_one", "crossover", ...: the operator.
  std::vector<std::uint64_t> parents;  ///< Tickets.
  std::string note = {};               ///< A proposer's own words; stored with the candidate.
  std::int64_t exchange = 0;           ///< With a language model, as the archive numbers them; 0: none. It is kept too.
};

/// The result of a proposal: a latency, or none where the genome failed.
struct Answer {
  std::uint64_t ticket = 0;
  std::optional<double> latency_us;
  std::size_t cases = 0;  ///< Where it failed: the validated cases that it reached. They are always in the same order.
  std::vector<float> traits = {};  ///< Its counters as numbers (traits_of, engine/result/profile.h); empty: unknown.
  double error = 0;                ///< Where it did not fail: its largest relative L2 error.

  /// The same answer to another ticket.
  Answer to(std::uint64_t other) const { return {other, latency_us, cases, traits, error}; }
};

/// An answer to a ticket that is not in flight: the caller's bug.
inline std::logic_error unknown_ticket(std::uint64_t ticket) {
  return std::logic_error("an answer to ticket " + std::to_string(ticket) + ", which is not in flight");
}

/// A search strategy behind the ask/tell interface. It is deterministic: the same space, seed and sequence of calls
/// give the same proposals. Answers must therefore come in ask order.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The next genome, never one that was asked before. Empty when the space is exhausted, or when a predictor or
  /// proposer that helps to choose was interrupted.
  virtual std::optional<Proposal> ask() = 0;
  /// Makes a proposal of a legal genome that somebody else has chosen, such as a seed. From here on it is one of the
  /// strategy's own. Empty when the genome was asked before. `parents`: tickets that were answered.
  virtual std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) = 0;
  /// Throws logic_error for a ticket that is not in flight.
  virtual void tell(const Answer& answer) = 0;
  /// A candidate that was told with a latency has turned out to be wrong: its failure takes the place of that answer. A
  /// strategy that does not look at latencies has nothing to do.
  virtual void retract(const Answer& /*failure*/) {}
  /// Whether there may be more genomes once what is under way is answered, though ask() has none.
  virtual bool waits() const { return false; }
};

}  // namespace evo

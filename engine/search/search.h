#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/search/evaluator.h"
#include "engine/strategy/strategy.h"
#include "engine/task/evaluation.h"

namespace evo {

/// Remembers what a run has done. Implementations: the SQLite store, fakes.
class Archive {
 public:
  virtual ~Archive() = default;
  /// The stored answer of this run's proposal (a resumed run): it is told again instead of being evaluated
  /// again.
  virtual std::optional<Evaluation> recall(const Proposal& proposal) = 0;
  /// Commits one evaluated proposal, all or nothing, and lets it compete for the elites.
  virtual void record(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) = 0;
};

/// Knows nothing and keeps nothing: for searches of which only the answers count.
class NoArchive : public Archive {
 public:
  std::optional<Evaluation> recall(const Proposal&) override { return std::nullopt; }
  void record(const Proposal&, const Candidate&, const Evaluation&) override {}
};

struct SearchLimits {
  std::uint64_t evaluations = 0;            ///< Proposals told, recalled ones included.
  std::function<bool()> out_of_time;        ///< Asked between evaluations; may be empty.
  const std::atomic<bool>* stop = nullptr;  ///< Set by Ctrl-C: in-flight candidates are finished, nothing new starts.
};

struct SearchProgress {
  std::uint64_t told = 0;
  std::uint64_t valid = 0;
  std::optional<double> best_us;
  const Proposal* last = nullptr;
  const Evaluation* last_evaluation = nullptr;
};

struct SearchResult {
  std::uint64_t told = 0;
  std::uint64_t valid = 0;
  bool interrupted = false;
  bool exhausted = false;  ///< The space has no further genome.
};

/// One search: asks, evaluates up to evaluator.width() at once, tells and records in ask order.
/// `build` turns a genome into a candidate (rendering).
SearchResult search(Strategy& strategy, Evaluator& evaluator, Archive& archive,
                    const std::function<Candidate(const Genome&)>& build, const SearchLimits& limits,
                    const std::function<void(const SearchProgress&)>& progress);

}  // namespace evo

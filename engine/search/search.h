#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/search/evaluator.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// The stored evaluation of a proposal.
struct Recalled {
  Evaluation evaluation;
  std::uint64_t number = 0;  ///< Grows in the order in which results were recorded.
};

/// Remembers what a run has done. Implementations: the SQLite store, fakes.
class Archive {
 public:
  virtual ~Archive() = default;
  /// The stored evaluation of a proposal of a resumed run. It is used instead of evaluating the proposal again.
  virtual std::optional<Recalled> recall(const Proposal& proposal) = 0;
  /// Commits one evaluated proposal, all or nothing, and lets it compete for the elites. Where latencies err that may
  /// be decided later.
  virtual void record(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) = 0;
  /// No more results come for now: decides what is left to decide about the elites, as far as there is time.
  virtual void settle() {}

  enum class Wait {
    no,
    until_checked,  ///< Until something is retracted or nothing is left that may be.
  };
  /// The tickets of this run's proposals whose candidates have turned out to be wrong since the last call: elites are
  /// checked further while the search goes on. To be called once after each answer, `answered` of which were given
  /// until now. A resumed run gets them at the same answers.
  virtual std::vector<std::uint64_t> retracted(std::uint64_t /*answered*/, Wait /*wait*/) { return {}; }
};

/// Stores nothing: for searches whose evaluations nobody needs afterwards.
class NoArchive : public Archive {
 public:
  std::optional<Recalled> recall(const Proposal&) override { return std::nullopt; }
  void record(const Proposal&, const Candidate&, const Evaluation&) override {}
};

/// The order in which the strategy and the archive get results.
enum class AnswerOrder : std::uint8_t {
  asked,     ///< As asked. The same answers give the same run, whichever evaluation was faster.
  finished,  ///< As they come, without waiting for the slowest. A resumed run replays the recorded order.
};

struct SearchLimits {
  AnswerOrder order = AnswerOrder::asked;
  std::uint64_t evaluations = 0;            ///< Proposals answered at most, recalled ones included.
  std::optional<double> until_us = {};      ///< Nothing new starts once a latency is at most this.
  bool settles = false;                     ///< It ends once more is unlikely to come (settling.h).
  std::uint64_t settled_until = 0;          ///< So does one that goes on, with fewer answers: it repeats what it asked.
  std::function<bool()> out_of_time;        ///< Asked between evaluations, once there is an answer. May be empty.
  const std::atomic<bool>* stop = nullptr;  ///< Set by Ctrl-C: in-flight candidates are finished, nothing new starts.
};

struct SearchProgress {
  std::uint64_t answered = 0;  ///< Proposals.
  std::uint64_t valid = 0;
  std::optional<double> best_us;
  const Proposal* last = nullptr;
  const Evaluation* last_evaluation = nullptr;
};

struct SearchResult {
  std::uint64_t answered = 0;  ///< Proposals.
  std::uint64_t valid = 0;
  bool interrupted = false;
  bool exhausted = false;  ///< The space has no further genome.
  bool reached = false;    ///< A latency was at most SearchLimits::until_us.
  /// It has ended because as many evaluations again bring Settling::kGain with this chance.
  std::optional<double> settled = {};
};

/// Runs one search: asks the strategy, evaluates up to evaluator.width() candidates at once, and gives the strategy and
/// the archive the results in the order that the limits name. `build` renders a genome to a candidate. What the archive
/// retracts is a failure from then on. All results are committed when it returns, and all elites are checked unless it
/// was interrupted.
SearchResult search(Strategy& strategy, Evaluator& evaluator, Archive& archive,
                    const std::function<Candidate(const Genome&)>& build, const SearchLimits& limits,
                    const std::function<void(const SearchProgress&)>& progress);

}  // namespace evo

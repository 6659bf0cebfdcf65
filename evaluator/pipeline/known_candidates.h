#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/search/evaluator.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/pipeline/candidate_job.h"

namespace evo {

/// The candidates that a pipeline has seen: which later one is a duplicate of which, and which ones wait for the
/// result of an equal one under way. The pipeline's mutex guards it.
class KnownCandidates {
 public:
  /// Without `dedup` no candidate is known.
  explicit KnownCandidates(bool dedup) : dedup_(dedup) {}

  /// Remembers a candidate of an earlier pipeline as if this one had evaluated it.
  void recall(const Finished& finished);
  /// False for a copy of an earlier candidate: it waits for that one's result and is not compiled.
  bool submit(const std::string& source_key);

  struct Match {
    bool found = false;
    std::optional<Evaluator::Done> result = {};  ///< Empty: it comes with that of an equal one under way.
  };
  /// Whether an equal candidate is known. The job is then taken over.
  Match match(Shared shared, CandidateJob& job);

  /// The job runs: equal ones follow it.
  void begin(const CandidateJob& job);
  /// The result of a job that does not run. Failures of the machine are not remembered.
  void settle(const CandidateJob& job, const Evaluation& evaluation);

  /// What becomes of those that followed a job.
  struct Followers {
    std::vector<Evaluator::Done> duplicates = {};
    std::vector<CandidateJob> of_their_own = {};  ///< Candidates to be evaluated, in this order.
  };
  /// The result of a job that ran. After a failure of the machine its followers are candidates of their own.
  Followers finish(const CandidateJob& job, const Evaluation& evaluation);

 private:
  /// A candidate that does the same work as another one under way.
  struct Follower {
    CandidateJob job;
    Shared shared = Shared::source;
  };
  struct Known {
    std::uint64_t ticket = 0;
    std::optional<Evaluation> evaluation = {};  ///< Empty: under way.
    std::vector<Follower> followers = {};       ///< Of one under way.
  };
  using Table = std::map<std::string, Known>;

  static Evaluator::Done duplicate_of(const Known& known, Follower follower);
  static std::vector<Follower> take_followers(Table& table, const std::string& key,
                                              const std::optional<Evaluation>& result);

  const bool dedup_;
  std::set<std::string> submitted_;  ///< By source.
  Table by_source_, by_binary_;
};

}  // namespace evo

#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "evaluator/judge/close_cases.h"
#include "evaluator/pipeline/candidate_worker.h"
#include "evaluator/pipeline/case_judge.h"
#include "evaluator/pipeline/validation_setup.h"

namespace evo {

/// Runs of a case whose outputs must agree bitwise.
inline constexpr std::uint32_t kRepeats = 3;

/// A case to run.
struct CaseStep {
  const Case* one = nullptr;
  std::optional<std::size_t> number;  ///< In the plan; empty: a seed beyond its grid.
};

/// Runs cases of one candidate. What their device judges and does not find well within its limits runs again, and the
/// host judges it. While the answer to one is compared, the next ones run. They are judged in their order.
class CaseRuns {
 public:
  /// Everything must outlive it. `close` is given the cases of the plan that are close to a limit.
  CaseRuns(const ValidationSetup& setup, const Candidate& candidate, CandidateWorker& worker, CaseJudge& judge,
           CloseCases& close)
      : setup_(setup), candidate_(candidate), worker_(worker), judge_(judge), close_(close) {}

  /// Up to the first failure.
  std::optional<Failure> run(const std::vector<CaseStep>& steps);

 private:
  class Batch;
  struct Comparing;

  bool is_judged_there(const CaseStep& step) const;
  std::optional<Failure> send(const CaseStep& step, bool judged_there, bool again);
  Comparing compare_in(Batch& batch, const CaseStep& step, protocol::Ran ran);
  std::optional<Failure> judge(std::deque<Comparing>& comparing, std::size_t most);
  std::optional<Failure> judge(Comparing first);

  const ValidationSetup& setup_;
  const Candidate& candidate_;
  CandidateWorker& worker_;
  CaseJudge& judge_;
  CloseCases& close_;
};

}  // namespace evo

#include "evaluator/pipeline/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "engine/device/device_kind.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/judge/close_cases.h"
#include "evaluator/pipeline/candidate_timing.h"
#include "evaluator/pipeline/candidate_worker.h"
#include "evaluator/pipeline/case_judge.h"
#include "evaluator/pipeline/case_runs.h"

namespace evo {
namespace {

/// One candidate's way through the gates, with one worker process.
class Trial {
 public:
  Trial(const ValidationSetup& setup, const Candidate& candidate, std::uint64_t first_module,
        const std::optional<ToBeat>& to_beat)
      : setup_(setup),
        candidate_(candidate),
        worker_(setup.device, candidate, first_module, setup.options.run_deadline_s),
        judge_(setup, candidate, evaluation_),
        runs_(setup, candidate, worker_, judge_, close_),
        timing_(setup, candidate, worker_, judge_, to_beat, evaluation_) {}
  Trial(const Trial&) = delete;  // Its parts refer to each other.
  Trial& operator=(const Trial&) = delete;

  Evaluation run(const std::vector<Binary>& binaries) {
    Stopwatch watch;
    std::optional<Failure> failure = worker_.load(binaries);
    if (!failure) failure = validate();
    if (!failure) failure = confirm();
    if (!failure) failure = sanitise();
    evaluation_.phases.validation_s = watch.lap_s();
    if (!failure && !setup_.options.only_judging) {
      failure = timing_.measure();
      evaluation_.phases.timing_s = watch.lap_s();
    }
    wants_retry_ = worker_.was_lost_without_blame();
    worker_.settle();
    if (failure) {
      evaluation_.verdict = failure->verdict;
      evaluation_.reason = std::move(failure->reason);
      evaluation_.mismatch = std::move(failure->mismatch);
    } else {
      evaluation_.verdict = Verdict::valid;
      if (!setup_.options.only_judging) evaluation_.latency_us = timing_.objective();
    }
    return std::move(evaluation_);
  }

  /// The worker was lost in a way that says nothing about the candidate.
  bool wants_retry() const { return wants_retry_; }

 private:
  std::optional<Failure> validate() {
    const CasePlan& plan = setup_.plan;
    // The smoke case goes alone: most of what is wrong ends there.
    if (is_planned(plan.smoke)) {
      if (auto failure = runs_.run({{&plan.cases[plan.smoke], plan.smoke}})) return failure;
    }
    std::vector<CaseStep> steps;
    for (std::size_t i = 0; i < plan.cases.size(); ++i)
      if (i != plan.smoke && is_planned(i)) steps.push_back({&plan.cases[i], i});
    // Where runs may differ, each of them is checked against the oracle instead.
    if (!setup_.options.task.deterministic) {
      for (const std::size_t number : plan.repeated)
        if (is_planned(number)) steps.insert(steps.end(), kRepeats - 1, {&plan.cases[number], number});
    }
    return runs_.run(steps);
  }

  /// A candidate that is only judged may lack plans.
  bool is_planned(std::size_t number) const {
    return !setup_.options.only_judging || program_for(candidate_, setup_.plan.cases[number].shape.name);
  }

  /// Other seeds of the cases whose draws came close to a limit.
  std::optional<Failure> confirm() {
    const auto output_bytes = [this](const Case& one) { return protocol::output_bytes(plan_of(candidate_, one)); };
    const PipelineOptions& options = setup_.options;
    std::vector<Case> cases;
    for (const auto& [number, seeds] : close_.further_draws(setup_.plan, output_bytes)) {
      std::ranges::move(more_cases(options.task, options.target, setup_.plan.cases[number], options.salt, seeds),
                        std::back_inserter(cases));
    }
    std::vector<CaseStep> steps;
    for (const Case& one : cases) steps.push_back({&one, std::nullopt});
    if (auto failure = runs_.run(steps)) return failure;
    return judge_.check_pools();
  }

  /// Races and reads of unwritten memory seldom depend on the numbers, so one case of a shape is mostly enough.
  std::optional<Failure> sanitise() {
    if (!kind_named(setup_.options.device.kind).sanitises) return std::nullopt;
    for (const std::size_t number : setup_.options.only_judging ? watched_cases() : cheapest_and_timed()) {
      const Case& one = setup_.plan.cases[number];
      if (auto failure = worker_.send_case(one, 1, CandidateWorker::Watch::sanitiser)) return failure;
      auto ran = worker_.expect<protocol::Ran>();
      if (ran.failure) return failure_at(candidate_, one, std::move(*ran.failure));
    }
    return std::nullopt;
  }

  std::vector<std::size_t> cheapest_and_timed() const {
    std::vector<std::size_t> cases = {setup_.plan.smoke};
    for (const TimedShape& timed : setup_.plan.timed)
      if (!timed.rotation.empty() && timed.rotation.front() != setup_.plan.smoke)
        cases.push_back(timed.rotation.front());
    return cases;
  }

  /// Of those that the candidate has plans for, one of each shape.
  std::vector<std::size_t> watched_cases() const {
    std::vector<std::size_t> cases;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < setup_.plan.cases.size(); ++i)
      if (is_planned(i) && (seen.insert(setup_.plan.cases[i].shape.name).second || setup_.options.watches_all_regimes))
        cases.push_back(i);
    return cases;
  }

  const ValidationSetup& setup_;
  const Candidate& candidate_;
  Evaluation evaluation_;
  CandidateWorker worker_;
  CaseJudge judge_;
  CloseCases close_;
  CaseRuns runs_;
  CandidateTiming timing_;
  bool wants_retry_ = false;
};

}  // namespace

Evaluation Validation::evaluate(const Candidate& candidate, const std::vector<Binary>& binaries,
                                const std::optional<ToBeat>& to_beat) {
  const PipelineOptions& options = setup_.options;
  for (int attempt = 0;; ++attempt) {
    if (const std::optional<Lost> lost = setup_.device.start(); lost && options.notice)
      options.notice(fmt::format("{}: the worker ended while it had nothing to do ({}); there is another",
                                 called(options.device), lost->reason));
    if (setup_.judging != nullptr) {
      setup_.judging->make_ready(setup_.device);
      setup_.device.start();
    }
    Trial trial(setup_, candidate, next_module_, to_beat);
    next_module_ += binaries.size();
    Evaluation evaluation = trial.run(binaries);
    if (!trial.wants_retry() || attempt > 0) return evaluation;
    if (options.notice)
      options.notice(fmt::format("{}: {}; its candidate runs again", called(options.device), evaluation.reason));
  }
}

}  // namespace evo

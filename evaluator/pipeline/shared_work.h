#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/search/evaluator.h"
#include "engine/task/calibration.h"
#include "evaluator/hosts/compile_pool.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/noise_floor.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/pipeline/candidate_job.h"
#include "evaluator/pipeline/device_health.h"
#include "evaluator/pipeline/known_candidates.h"
#include "evaluator/pipeline/lane_roll.h"
#include "evaluator/timing/comparison_queue.h"
#include "evaluator/timing/lane_times.h"
#include "evaluator/timing/ranked_timings.h"

namespace evo {

/// What the lanes of a pipeline share.
struct SharedWork {
  /// Begins to open the compiler. Throws usage_error for a task whose cases cannot be planned.
  explicit SharedWork(PipelineOptions given);

  const PipelineOptions options;  ///< With the device kind's defaults filled in.
  const std::optional<Calibration> calibration;
  const CasePlan plan;
  const std::vector<bool> judged_there;  ///< Cases of the plan.
  StopSignal stop;
  OracleStore oracles;
  const std::shared_ptr<KnownOracles> further = std::make_shared<KnownOracles>();  ///< Of seeds beyond the grid's.
  const KnownHonest honest{};
  const int compile_workers;
  CompilePool pool;
  std::atomic<std::uint64_t> valid = 0;         ///< Valid candidates, counted where counters are read.
  std::atomic<bool> counters_hindered = false;  ///< Why was said.

  mutable std::mutex mutex;  ///< Guards all that follows.
  std::condition_variable changed;
  std::deque<CandidateJob> jobs;      ///< Submitted, not yet looked at.
  std::deque<CandidateJob> returned;  ///< Built, to be run on another device than before.
  std::deque<Evaluator::Done> done;
  ComparisonQueue comparisons;
  KnownCandidates known;
  RankedTimings ranked;
  DeviceHealth health;
  LaneRoll roll;
  LaneClock clock;
  bool admitting = false;  ///< A lane looks at the next job.
  bool closing = false;

  // With the mutex held:
  bool is_idle() const { return !closing && jobs.empty() && returned.empty() && comparisons.empty(); }
  void report(Evaluator::Done result);
};

}  // namespace evo

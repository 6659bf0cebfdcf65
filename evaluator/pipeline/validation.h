#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/task/calibration.h"
#include "engine/task/candidate.h"
#include "engine/task/evaluation.h"
#include "evaluator/pipeline/cases.h"
#include "evaluator/pipeline/noise_floor.h"
#include "evaluator/pipeline/oracle.h"
#include "evaluator/pipeline/pipeline_options.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// What candidates are validated with. All of it must outlive the validation.
struct ValidationSetup {
  const PipelineOptions& options;
  const std::optional<Calibration>& calibration;
  const CasePlan& plan;
  OracleStore& oracles;
  ExtraOracles& extra;
  NoiseFloor& floor;
  WorkerClient& device;
};

/// The candidate that another one has to be faster than.
struct ToBeat {
  double us = 0;
  bool at_full_clock = false;  ///< No power limit slowed it down.
};

/// The gates that run a candidate on the device, in this order: smoke case, all cases with repeatability, further seeds
/// where an error came close to its limit, the sanitiser where the device has one, timing, the outputs of the timed
/// launches. Used by one thread.
class Validation {
 public:
  explicit Validation(const ValidationSetup& setup) : setup_(setup) {}

  /// `binaries`: one for each program of the candidate, in order. Fills everything of the evaluation but its builds.
  /// `to_beat`: one that is plainly slower is timed briefly, and only one that is faster is timed with cold caches,
  /// too. Throws Stopped, and machine_error when no device worker can be started.
  Evaluation evaluate(const Candidate& candidate, const std::vector<Binary>& binaries,
                      const std::optional<ToBeat>& to_beat = std::nullopt);

 private:
  ValidationSetup setup_;
  std::uint64_t next_module_ = 1;
};

}  // namespace evo

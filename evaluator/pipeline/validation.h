#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "evaluator/pipeline/validation_setup.h"
#include "evaluator/timing/ranked_timings.h"

namespace evo {

/// The gates that run a candidate on the device, in this order: smoke case, all cases with repeatability, further seeds
/// where an error came close to its limit, the sanitiser where the device has one, timing, the outputs of the timed
/// launches, the probe for skipped work. Used by one thread.
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

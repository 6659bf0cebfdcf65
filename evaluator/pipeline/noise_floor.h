#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/calibration.h"
#include "evaluator/pipeline/oracle.h"

namespace evo {

/// A relative error that is never put down to an ill-conditioned draw.
inline constexpr double kHopelessError = 0.5;

/// What an honest kernel errs by on single cases, and how ill-conditioned these are. Some draws have sums that nearly
/// cancel, or a few values on which every output depends. On these any kernel of the precision that the task admits has
/// a large relative error. How large is measured by the task's emulation of such a kernel (engine/task/calibration.h)
/// on the same inputs. For a task without one it is how far the reference's results move when the last bits of its
/// inputs change. Several threads may ask.
class NoiseFloor {
 public:
  /// Everything referred to must outlive it. `stop` may be null.
  NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration, const CasePlan& plan,
             OracleStore& oracles, const StopSignal* stop);

  /// What the emulation errs by on this case in an output: `output` counts those that are there. Throws as
  /// compute_oracles does.
  EmulationError emulation_error(const Case& one, const Expected& exact, std::size_t output);
  /// The error on this case over the error on the first timed case, which is an ordinary draw of many values; at least
  /// 1. Throws as compute_oracles does.
  double ill_conditioning(const Case& one, const Expected& exact);
  /// Ends the worker, because nothing else may run on a GPU while a candidate is timed.
  void rest();

 private:
  // To be called with the lock held.
  /// The errors of what stands for an honest kernel, by output. Those of integers are 0.
  const std::vector<EmulationError>& errors(const Case& one, const Expected& exact);
  /// The largest relative L2 error of several outputs.
  double floor(const Case& one, const Expected& exact);

  std::mutex mutex_;
  bool has_emulation_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  PipelineOptions options_;  ///< With the emulation, if there is one, in place of the reference.
  ExtraOracles stand_in_;
  std::optional<double> ordinary_;
  std::map<std::string, std::vector<EmulationError>> known_;  ///< By the case's recipe.
};

}  // namespace evo

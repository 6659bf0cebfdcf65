#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/task/calibration.h"
#include "evaluator/pipeline/oracle.h"

namespace evo {

/// How ill-conditioned single cases are. Some draws have sums that nearly cancel, or a few values on which every output
/// depends. On these any kernel of the precision that the task admits has a large relative error. How large is measured
/// by the task's emulation of such a kernel (engine/task/calibration.h) on the same inputs. For a task without one it
/// is how far the reference's results move when the last bits of its inputs change. Used by one thread.
class NoiseFloor {
 public:
  /// Everything referred to must outlive it. `stop` may be null.
  NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration, const CasePlan& plan,
             OracleStore& oracles, const StopSignal* stop);

  /// The error on this case over the error on the first timed case, which is an ordinary draw of many values; at least
  /// 1. Throws as compute_oracles does.
  double ill_conditioning(const Case& one, const Expected& exact);
  /// Ends the worker, because nothing else may run on a GPU while a candidate is timed.
  void rest();

 private:
  /// The relative L2 error of what stands for an honest kernel, the largest one of several outputs.
  double floor(const Case& one, const Expected& exact);

  bool has_emulation_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  PipelineOptions options_;  ///< With the emulation, if there is one, in place of the reference.
  ExtraOracles stand_in_;
  std::optional<double> ordinary_;
  std::map<std::string, double> known_;  ///< By the case's recipe.
};

}  // namespace evo

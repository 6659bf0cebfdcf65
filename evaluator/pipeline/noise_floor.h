#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/task/calibration.h"
#include "evaluator/pipeline/oracle.h"

namespace evo {

/// How ill-conditioned single cases are. Some draws have sums that nearly cancel, or a few values on which every output
/// depends. On these any kernel of the precision that the task admits has a large relative error. The task's emulation
/// of such a kernel (engine/task/calibration.h), run on the same inputs, measures how large. Used by one thread.
class NoiseFloor {
 public:
  /// Everything referred to must outlive it. Without a calibration every draw counts as well-conditioned. `stop` may be
  /// null.
  NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration, const CasePlan& plan,
             OracleStore& oracles, const StopSignal* stop);

  /// The emulation's error on this case over its error on the first timed case, which is an ordinary draw of many
  /// values; at least 1. Throws as compute_oracles does.
  double ill_conditioning(const Case& one, const Expected& exact);
  /// Ends the worker, because nothing else may run on a GPU while a candidate is timed.
  void rest();

 private:
  /// The emulation's relative L2 error, the largest one of several outputs.
  double floor(const Case& one, const Expected& exact);

  bool calibrated_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  PipelineOptions options_;  ///< With the emulation in place of the reference.
  ExtraOracles emulation_;
  std::optional<double> ordinary_;
  std::map<std::string, double> known_;  ///< By the case's recipe.
};

}  // namespace evo

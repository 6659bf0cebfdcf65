#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/task/calibration.h"
#include "evaluator/pipeline/oracle.h"

namespace evo {

/// What rounding alone does to single cases. Some draws are ill-conditioned: sums that nearly cancel, a few values that
/// every output hangs on. There any kernel of the precision that the task admits is far from the reference, in relative
/// terms; how far, the task's emulation of such a kernel (engine/task/calibration.h) tells on the same inputs. Used by
/// one thread.
class NoiseFloor {
 public:
  /// Everything referred to must outlive it. Without a calibration every draw counts as well-conditioned. `stop` may be
  /// null.
  NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration, const CasePlan& plan,
             OracleStore& oracles, const StopSignal* stop);

  /// How many times as far from the reference the emulation is on this case as on the first timed one, an ordinary draw
  /// of many values; at least 1. Throws as compute_oracles does.
  double strain(const Case& one, const Expected& exact);
  /// Ends the worker: nothing else may run on a GPU while a candidate is timed.
  void rest();

 private:
  /// The emulation's relative L2 error; of several outputs the largest.
  double floor(const Case& one, const Expected& exact);

  bool calibrated_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  PipelineOptions options_;  ///< Of the emulation.
  ExtraOracles emulation_;
  std::optional<double> ordinary_;
  std::map<std::string, double> strains_;  ///< By the case's recipe.
};

}  // namespace evo

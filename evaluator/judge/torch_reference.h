#pragma once

#include <memory>
#include <vector>

#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/comparison.h"

namespace evo {

/// Computes what a task's reference.py says, in a process of python3, or of the program that $EVO_PYTHON names. Inputs
/// and outputs travel as files. Used by one thread.
class TorchReference {
 public:
  /// Starts the process. `options` and `stop`, which may be null, must outlive it. Throws machine_error where there is
  /// no torch, usage_error for a reference.py that cannot be loaded.
  TorchReference(const PipelineOptions& options, const StopSignal* stop);
  ~TorchReference();

  /// A process that has ended since the last case is started again. Throws usage_error where the reference fails or
  /// gives something else than the task says, machine_error when the process is lost, Stopped once the signal is
  /// raised.
  std::vector<ExpectedOutput> compute(const Case& one);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo

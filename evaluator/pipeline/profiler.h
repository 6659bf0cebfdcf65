#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "engine/result/profile.h"
#include "engine/task/candidate.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// Reads the counters of candidates of one task, target and device, in worker processes of its own: what a profiler
/// leaves behind in a process never touches a timing. Nothing is validated.
class Profiler {
 public:
  using Result = std::variant<std::vector<Profile>, Failure>;

  /// `options` and `stop`, which may be null, must outlive it.
  explicit Profiler(const PipelineOptions& options, const StopSignal* stop = nullptr);

  /// The counters at every timed shape, on the inputs of the task's first regime. `binaries`: of every program. Throws
  /// machine_error, with the remedy, where the device's counters cannot be read.
  Result profile(const Candidate& candidate, const std::vector<Binary>& binaries);
  /// The same, compiled here unless `options.binaries` has it.
  Result profile(const Candidate& candidate);

 private:
  template <typename T>
  std::optional<Failure> ask(protocol::Request request, T& reply);

  const PipelineOptions& options_;
  double run_deadline_s_;
  CompileWorker compiler_;
  WorkerClient device_;
};

}  // namespace evo

#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "evaluator/pipeline/cases.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// Every output of one case as the reference computes it.
using Expected = std::vector<std::vector<float>>;

/// Expected outputs by case, filled by one thread and read by another. They never enter a process that runs candidates.
class OracleStore {
 public:
  explicit OracleStore(std::size_t cases) : expected_(cases) {}

  void put(std::size_t number, Expected expected);
  /// All are there, and the worker that computed them is gone.
  void finish();
  /// No further oracle will come; readers that wait get this.
  void fail(std::exception_ptr error);
  /// Waits for it. Throws what `fail` was given.
  std::shared_ptr<const Expected> get(std::size_t number);
  /// Waits for `finish`: nothing else may run on a GPU while a candidate is timed. Throws what `fail` was given.
  void wait_until_finished();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<const Expected>> expected_;
  std::exception_ptr failure_;
  bool finished_ = false;
};

/// Compiles the reference and runs it on every case, in worker processes of its own; the smoke case comes first. Throws
/// usage_error for a reference that does not compile, fails or gives values that are not finite.
void compute_oracles(const PipelineOptions& options, const CasePlan& plan, const StopSignal& stop, OracleStore& store);

/// Oracles of cases beyond the plan, for the shapes of the plan, computed when they are asked for. Used by one thread.
class ExtraOracles {
 public:
  /// Everything referred to must outlive it. `stop` may be null.
  ExtraOracles(const PipelineOptions& options, const CasePlan& plan, const StopSignal* stop);
  ~ExtraOracles();
  /// Throws as compute_oracles does.
  std::shared_ptr<const Expected> get(const Case& one);
  /// Ends the worker: nothing else may run on a GPU while a candidate is timed.
  void rest();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The command of a worker: the configured one, or this executable, with the role appended.
WorkerOptions worker_options(const PipelineOptions& options, const std::vector<std::string>& role,
                             const StopSignal* stop);

}  // namespace evo

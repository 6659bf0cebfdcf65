#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "evaluator/pipeline/profiler.h"
#include "evaluator/pipeline/shared_work.h"
#include "evaluator/pipeline/validation.h"

namespace evo {

/// One device of a pipeline: a thread that opens it and takes one candidate after another.
class Lane {
 public:
  /// To be called with the lock of `shared`, which must outlive it.
  Lane(SharedWork& shared, std::size_t number, const DeviceInfo& device);
  void start();
  /// Waits until the thread has ended.
  void join() { thread_.join(); }

  /// With this device, and no finished candidates.
  const PipelineOptions& options() const { return options_; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // Opening and leaving.
  void serve_while_open();
  void announce_open();
  void emulate_while_idle(NoiseFloor& floor);
  bool is_idle() const;
  void leave(bool open, const std::exception_ptr& why);
  void give_job_back();
  bool wait_to_return() const;

  // What to do next.
  bool next_job(WorkerClient& device);
  const QueuedTiming* next_comparison() const;
  std::deque<CandidateJob>::iterator returned_job() const;
  void compare(const QueuedTiming& comparison, WorkerClient& device, Lock& lock);
  bool admit_next(Lock& lock);
  void set_admitting(bool admitting);
  bool admit();

  // One candidate.
  bool is_known(Shared shared);
  void settle(Evaluation evaluation);
  void run_job(Validation& validation);
  Evaluation evaluate(Validation& validation);
  void read_counters(Evaluation& evaluation);
  void finish(Evaluation evaluation);

  SharedWork& shared_;
  const std::size_t number_;
  const PipelineOptions options_;
  const RanOn place_;
  const bool modelled_;
  std::optional<CandidateJob> job_;  ///< Under way.
  bool admitting_ = false;           ///< It looks at the next job in order.
  std::optional<Profiler> profiler_;
  std::thread thread_;
};

}  // namespace evo

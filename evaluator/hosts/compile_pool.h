#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "evaluator/base/job_queue.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/compile_job.h"
#include "evaluator/hosts/helping_host.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/worker/channel.h"

namespace evo {

class CompileWorker;

/// Compiles in several worker processes at once, first come, first served. Other hosts may help. What the options'
/// `binaries` hold is not compiled again. Candidates that are only judged were mostly compiled before: a worker then
/// starts with its first program.
class CompilePool {
 public:
  using Result = std::variant<Binary, Failure>;

  /// It uses these `options`: the worker command, the deadline for compiling and the binaries; for other hosts also the
  /// device's architecture, the lease, the pause before a lost host is asked again, and the notice. `stop` may be null.
  CompilePool(PipelineOptions options, int workers, const StopSignal* stop);
  /// Either `stop` must have been raised, or no program may be under way.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Waits until the first worker that starts at once has opened its compiler. Throws the worker's message when it
  /// finds none.
  void wait_until_open();

  /// The future throws when the machine has failed.
  std::shared_future<Result> compile(protocol::Compile request);

  /// Another host compiles, too. One that is there already, by its prefix, is left alone. This method and the next may
  /// be called from any thread.
  void join(const OtherHost& host) { hosts_.join(host); }
  /// This host first.
  std::vector<HostShare> shares() const { return hosts_.shares(compiled_); }

 private:
  void work();
  void open(CompileWorker& worker);

  PipelineOptions options_;
  const StopSignal* const stop_;
  StopSignal hosts_stop_;
  JobQueue<CompileJob> jobs_;
  std::atomic<std::uint64_t> compiled_ = 0;  ///< Here.
  HelpingHosts<CompileJob> hosts_{options_, jobs_, hosts_stop_};
  std::mutex mutex_;
  std::condition_variable changed_;  ///< Of what follows.
  bool open_ = false;
  std::exception_ptr open_error_;  ///< Of the first worker that failed.
  std::vector<std::thread> threads_;
};

}  // namespace evo

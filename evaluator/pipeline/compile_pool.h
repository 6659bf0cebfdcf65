#pragma once

#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "evaluator/base/job_queue.h"
#include "evaluator/device/device.h"
#include "evaluator/pipeline/binary_cache.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// Compiles in several worker processes at once, first come, first served. What `binaries` holds is not compiled again.
class CompilePool {
 public:
  using Result = std::variant<Binary, Failure>;

  CompilePool(const WorkerOptions& worker, int workers, double deadline_s, std::shared_ptr<BinaryCache> binaries);
  /// Either the stop signal of the worker options must have been raised, or no program may be under way.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Waits until the first worker has opened its compiler. Throws the worker's message when it finds none.
  void wait_until_open();

  /// The future throws when the machine has failed.
  std::shared_future<Result> compile(protocol::Compile request);

 private:
  struct Job {
    protocol::Compile request;
    std::promise<Result> result;
  };

  void work();
  void open(WorkerClient& worker);
  Result compile_one(WorkerClient& worker, const protocol::Compile& request) const;

  WorkerOptions worker_;
  double deadline_s_;
  std::shared_ptr<BinaryCache> binaries_;
  JobQueue<Job> jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;  ///< Of what follows.
  bool open_ = false;
  std::exception_ptr open_error_;  ///< Of the first worker that failed.
  std::vector<std::thread> threads_;
};

}  // namespace evo

#include "evaluator/hosts/compile_pool.h"

#include <optional>
#include <string>
#include <utility>

#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/compile_worker.h"

namespace evo {
CompilePool::CompilePool(PipelineOptions options, int workers, const StopSignal* stop)
    : options_(std::move(options)), stop_(stop) {
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

CompilePool::~CompilePool() {
  hosts_stop_.raise();
  jobs_.close();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_future<CompilePool::Result> CompilePool::compile(protocol::Compile request) {
  CompileJob job{std::move(request), {}};
  std::shared_future<Result> result = job.result.get_future().share();
  if (std::optional<Binary> known = options_.binaries->find(job.request)) {
    job.result.set_value(*std::move(known));
    return result;
  }
  jobs_.push(std::move(job));
  hosts_.wake();
  return result;
}

void CompilePool::wait_until_open() {
  if (options_.only_judging) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return open_ || open_error_; });
  if (!open_) std::rethrow_exception(open_error_);
}

void CompilePool::open(CompileWorker& worker) {
  std::exception_ptr error;
  try {
    worker.start();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  open_ = open_ || !error;
  if (error && !open_error_) open_error_ = error;
  changed_.notify_all();
}

void CompilePool::work() {
  // The worker process belongs to this thread: it would die with another one.
  CompileWorker worker(options_, stop_);
  if (!options_.only_judging) open(worker);
  while (std::optional<CompileJob> job = jobs_.next()) {
    try {
      ++compiled_;
      job->result.set_value(worker.compile(job->request));
    } catch (...) {
      job->result.set_exception(std::current_exception());
    }
  }
}

}  // namespace evo

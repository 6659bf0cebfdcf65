#include "evaluator/hosts/compile_pool.h"

#include <optional>
#include <string>
#include <utility>

#include "evaluator/hosts/binary_cache.h"

namespace evo {
namespace {

std::string reason_of(const Lost& lost) {
  switch (lost.how) {
    case Lost::How::timed_out:
      return "compiling: " + lost.reason;
    case Lost::How::crashed:
      return "the compiler was " + lost.reason;
    default:
      return "the compile worker broke the protocol: " + lost.reason;
  }
}

}  // namespace

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
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return open_ || open_error_; });
  if (!open_) std::rethrow_exception(open_error_);
}

void CompilePool::open(WorkerClient& worker) {
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
  WorkerClient worker(worker_options(options_, {"compile", options_.device.kind}, stop_));
  open(worker);
  while (std::optional<CompileJob> job = jobs_.next()) {
    try {
      ++compiled_;
      job->result.set_value(compile_one(worker, job->request));
    } catch (...) {
      job->result.set_exception(std::current_exception());
    }
  }
}

CompilePool::Result CompilePool::compile_one(WorkerClient& worker, const protocol::Compile& request) const {
  for (int attempt = 0;; ++attempt) {
    auto answer = worker.ask<protocol::Compiled>(request, options_.compile_deadline_s);
    if (auto* compiled = std::get_if<protocol::Compiled>(&answer)) {
      options_.binaries->keep(request, compiled->binary);
      return std::move(compiled->binary);
    }
    if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
    if (const auto* lost = std::get_if<Lost>(&answer)) {
      if (lost->blameless && attempt == 0) continue;
      return Failure{verdict_of(*lost), reason_of(*lost)};
    }
    worker.stop();
    return Failure{Verdict::harness_failed, "compiling: " + std::get<protocol::Broken>(answer).message};
  }
}

}  // namespace evo

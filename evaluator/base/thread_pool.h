#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "evaluator/base/job_queue.h"

namespace evo {

/// Threads that wait for work, because to wake one costs far less than to start one. (Where each piece of a few
/// milliseconds of work started its own threads, candidates took several times as long to validate on a virtual machine
/// of 16 cores.)
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  /// Waits for the work that has begun; the rest is dropped.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Work may wait for other processes, but not for work of the same pool. It must not throw.
  void post(std::function<void()> work) { queue_.push(std::move(work)); }
  int size() const { return static_cast<int>(threads_.size()); }

 private:
  JobQueue<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
};

/// This process's own, with a thread for each core but one. It is there until the process ends.
ThreadPool& shared_pool();

}  // namespace evo

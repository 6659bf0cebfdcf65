#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "evaluator/base/job_queue.h"

namespace evo {

/// Threads that wait for work. To start a thread takes a millisecond and more on some machines (sandboxes that
/// emulate the kernel), to wake one far less.
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

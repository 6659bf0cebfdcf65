#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace evo {

/// Hands jobs from some threads to others, first come, first served.
template <typename Job>
class JobQueue {
 public:
  void push(Job job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

  /// A job that was taken comes first again.
  void give_back(Job job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_front(std::move(job));
    }
    changed_.notify_one();
  }

  /// The next job that `wanted` accepts. Does not wait: empty when there is none, or the queue is closed.
  template <typename Wanted>
  std::optional<Job> take_if(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(jobs_.begin(), jobs_.end(), wanted);
    if (closed_ || found == jobs_.end()) return std::nullopt;
    std::optional<Job> job(std::move(*found));
    jobs_.erase(found);
    return job;
  }

  /// Waits for the next job. Empty once the queue is closed, even where jobs are left in it.
  std::optional<Job> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
    if (closed_) return std::nullopt;
    std::optional<Job> job(std::move(jobs_.front()));
    jobs_.pop_front();
    return job;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool closed_ = false;
};

}  // namespace evo

#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>

#include "evaluator/timing/shared_timing.h"

namespace evo {

/// An interleaved timing that waits for lanes, or has some at work.
struct QueuedTiming {
  std::shared_ptr<SharedTiming> timing;
  std::optional<std::size_t> lane = {};  ///< The only one that may do it; empty: any.
  std::size_t lanes_at_work = 0;
};

/// The interleaved timings of a pipeline, the oldest first: which one a lane takes, and which one it may join. The
/// pipeline's mutex guards it.
class ComparisonQueue {
 public:
  bool empty() const { return queue_.empty(); }
  void add(std::shared_ptr<SharedTiming> timing, std::optional<std::size_t> lane);

  /// One that no lane works on, else, if `joins`, one that the lane may join; null without any. It stays valid until
  /// the queue changes.
  const QueuedTiming* next_for(std::size_t lane, bool joins) const;
  /// A lane begins to work on it. It stays in the queue, so that others can join.
  void begin(const SharedTiming& timing);
  /// A lane has done with it. It leaves the queue if it has ended; else another lane goes on.
  void leave(const SharedTiming& timing);

  /// Those that only this lane may do get this error as their result.
  void fail_those_of(std::size_t lane, const std::exception_ptr& why);
  void fail_all(const std::exception_ptr& why);

 private:
  std::deque<QueuedTiming> queue_;
};

}  // namespace evo

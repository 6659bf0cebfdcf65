#include "evaluator/timing/comparison_queue.h"

#include <algorithm>
#include <utility>

namespace evo {
namespace {

auto is(const SharedTiming& timing) {
  return [&timing](const QueuedTiming& one) { return one.timing.get() == &timing; };
}

}  // namespace

void ComparisonQueue::add(std::shared_ptr<SharedTiming> timing, std::optional<std::size_t> lane) {
  queue_.push_back({std::move(timing), lane});
}

const QueuedTiming* ComparisonQueue::next_for(std::size_t lane, bool joins) const {
  const QueuedTiming* joined = nullptr;
  for (const QueuedTiming& one : queue_) {
    if (one.lane && one.lane != lane) continue;
    if (one.lanes_at_work == 0) return &one;
    if (joins && !joined && !one.timing->ended()) joined = &one;
  }
  return joined;
}

void ComparisonQueue::begin(const SharedTiming& timing) {
  ++std::ranges::find_if(queue_, is(timing))->lanes_at_work;
}

void ComparisonQueue::leave(const SharedTiming& timing) {
  const auto one = std::ranges::find_if(queue_, is(timing));
  if (one == queue_.end()) return;  // It failed meanwhile.
  --one->lanes_at_work;
  if (timing.ended()) queue_.erase(one);
}

void ComparisonQueue::fail_those_of(std::size_t lane, const std::exception_ptr& why) {
  std::erase_if(queue_, [&](const QueuedTiming& one) {
    if (one.lane != lane) return false;
    one.timing->fail(why);
    return true;
  });
}

void ComparisonQueue::fail_all(const std::exception_ptr& why) {
  for (const QueuedTiming& one : queue_) one.timing->fail(why);
  queue_.clear();
}

}  // namespace evo

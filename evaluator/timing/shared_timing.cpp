#include "evaluator/timing/shared_timing.h"

#include <cstddef>
#include <utility>

namespace evo {

EnoughRounds SharedTiming::taker() {
  return [this, throttled_before = 0](const InterleavedTimings& of_device) mutable {
    const std::lock_guard lock(mutex_);
    if (ended_) return true;
    take(of_device);
    timings_.throttled += of_device.throttled - std::exchange(throttled_before, of_device.throttled);
    ended_ = ++taken_ == rounds_ || (enough_ && enough_(timings_));
    if (ended_) result_.set_value(timings_);
    return ended_;
  };
}

void SharedTiming::take(const InterleavedTimings& of_device) {
  timings_.modelled = of_device.modelled;
  timings_.long_turns = of_device.long_turns;
  timings_.rounds_us.resize(candidates_.size());
  timings_.failures.resize(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (timings_.failures[i]) continue;  // Rounds without it must not pair with later ones.
    timings_.failures[i] = of_device.failures[i];
    if (!of_device.failures[i]) timings_.rounds_us[i].push_back(of_device.rounds_us[i].back());
  }
}

void SharedTiming::end() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ended_, true)) result_.set_value(timings_);
}

void SharedTiming::fail(const std::exception_ptr& why) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ended_, true)) result_.set_exception(why);
}

bool SharedTiming::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

}  // namespace evo

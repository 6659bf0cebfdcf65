#pragma once

#include <chrono>
#include <utility>

namespace evo {

/// Measures one stretch of time after another.
class Stopwatch {
 public:
  /// Seconds since the last lap, or since the beginning.
  double lap_s() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(since_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since_ = Clock::now();
};

}  // namespace evo

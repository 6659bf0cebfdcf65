#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

namespace evo {

/// What the devices of a pipeline have spent their time on: seconds, added up over the devices.
struct LaneTimes {
  double validation_s = 0;
  double timing_s = 0;
  double comparison_s = 0;  ///< Interleaved timings.
  double compiling_s = 0;   ///< Waiting for a candidate to be compiled.
  double idle_s = 0;        ///< Nothing was submitted that another device did not work on already.

  double total_s() const { return validation_s + timing_s + comparison_s + compiling_s + idle_s; }
  LaneTimes since(const LaneTimes& earlier) const {
    return {validation_s - earlier.validation_s, timing_s - earlier.timing_s, comparison_s - earlier.comparison_s,
            compiling_s - earlier.compiling_s, idle_s - earlier.idle_s};
  }
};

/// Adds up how long devices wait. While one of them looks at the next candidate, which others must not overtake, they
/// wait for its compiler. Not for several threads at once.
class LaneClock {
 public:
  LaneTimes times;  ///< Up to the last change.

  void begin_wait() {
    count();
    ++waiting_;
  }
  void end_wait() {
    count();
    --waiting_;
  }
  void set_admitting(bool admitting) {
    count();
    admitting_ = admitting;
  }
  void count() {
    const Clock::time_point now = Clock::now();
    const double passed_s = std::chrono::duration<double>(now - std::exchange(counted_, now)).count();
    (admitting_ ? times.compiling_s : times.idle_s) += static_cast<double>(waiting_) * passed_s;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point counted_ = Clock::now();
  std::size_t waiting_ = 0;
  bool admitting_ = false;
};

}  // namespace evo

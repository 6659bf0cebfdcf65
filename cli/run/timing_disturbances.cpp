#include "cli/run/timing_disturbances.h"

#include <fmt/format.h>

#include <algorithm>

namespace evo::cli {
namespace {

/// A clock below this share of the highest one of the run counts as changed.
constexpr double kSameClock = 0.9;

}  // namespace

std::vector<std::string> TimingDisturbances::notice(const std::string& name, const Evaluation& evaluation) {
  std::vector<std::string> lines;
  for (const Timing& timing : evaluation.timings) note_clocks(timing.conditions);
  for (const Timing& timing : evaluation.timings) {
    const Conditions& now = timing.conditions;
    if (now.other_processes > 0 && first(Kind::other_process)) {
      lines.push_back(fmt::format("{} other process{} on this GPU while {} was timed: latencies may be too long",
                                  now.other_processes, now.other_processes > 1 ? "es" : "", name));
    }
    if (timing.throttled > 0 && first(Kind::throttling)) {
      lines.push_back(
          fmt::format("the GPU lowered its clocks while {} was timed (heat or power): {} samples were dropped", name,
                      timing.throttled));
    }
    if (now.sm_mhz_low == 0) continue;  // The clock is not known.
    if (now.power_limited) {
      if (first(Kind::power_limit))
        lines.push_back(fmt::format(
            "the GPU's power limit lowers the clock under {} (SM at {} MHz): latencies are those of a lasting load",
            name, now.sm_mhz_low));
    } else if (now.sm_mhz_low < kSameClock * std::min(highest_sm_mhz_, lowest_limited_sm_mhz_) && first(Kind::clocks)) {
      lines.push_back(fmt::format("the GPU's clock changes during this run: {} MHz while {} was timed, {} MHz at best",
                                  now.sm_mhz_low, name, highest_sm_mhz_));
    }
  }
  return lines;
}

void TimingDisturbances::note_clocks(const Conditions& now) {
  highest_sm_mhz_ = std::max(highest_sm_mhz_, now.sm_mhz_high);
  if (now.power_limited && now.sm_mhz_low > 0)
    lowest_limited_sm_mhz_ = std::min(lowest_limited_sm_mhz_, now.sm_mhz_low);
}

}  // namespace evo::cli

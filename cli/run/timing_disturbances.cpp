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
  const RanOn& place = evaluation.ran_on;
  Gpu& gpu = gpus_[place.host + ' ' + place.device];
  const std::string name_of_gpu = place.device.empty() ? "the GPU" : place.device;
  for (const Timing& timing : evaluation.timings) gpu.note_clocks(timing.conditions);
  for (const Timing& timing : evaluation.timings) {
    const Conditions& now = timing.conditions;
    if (now.other_processes > 0 && gpu.first(Kind::other_process)) {
      lines.push_back(fmt::format("{} other process{} on {} while {} was timed: latencies may be too long",
                                  now.other_processes, now.other_processes > 1 ? "es" : "", name_of_gpu, name));
    }
    if (timing.throttled > 0 && gpu.first(Kind::throttling)) {
      lines.push_back(fmt::format("{} lowered its clocks while {} was timed (heat or power): {} samples were dropped",
                                  name_of_gpu, name, timing.throttled));
    }
    if (!now.sm_mhz_low) continue;
    if (now.power_limited) {
      if (gpu.first(Kind::power_limit))
        lines.push_back(fmt::format(
            "the power limit of {} lowers the clock under {} (SM at {} MHz): latencies are those of a lasting load",
            name_of_gpu, name, *now.sm_mhz_low));
    } else if (*now.sm_mhz_low < kSameClock * std::min(gpu.highest_sm_mhz, gpu.lowest_limited_sm_mhz) &&
               gpu.first(Kind::clocks)) {
      lines.push_back(fmt::format("the clock of {} changes during this run: {} MHz while {} was timed, {} MHz at best",
                                  name_of_gpu, *now.sm_mhz_low, name, gpu.highest_sm_mhz));
    }
  }
  return lines;
}

void TimingDisturbances::Gpu::note_clocks(const Conditions& now) {
  highest_sm_mhz = std::max(highest_sm_mhz, now.sm_mhz_high.value_or(0));
  if (now.power_limited && now.sm_mhz_low) lowest_limited_sm_mhz = std::min(lowest_limited_sm_mhz, *now.sm_mhz_low);
}

}  // namespace evo::cli

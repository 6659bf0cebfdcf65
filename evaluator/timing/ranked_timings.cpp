#include "evaluator/timing/ranked_timings.h"

#include <algorithm>

namespace evo {

void RankedTimings::add(const std::string& source_key, const Evaluation& evaluation) {
  const bool at_full_clock = std::ranges::all_of(evaluation.timings, [this](const Timing& timing) {
    const Conditions& now = timing.conditions;
    return timing.cold || (!now.power_limited && is_full_clock(now.sm_mhz_low.value_or(0), full_mhz_));
  });
  // The warm-up of a slower one may have ended before a power limit showed.
  const bool warmed_up = fastest_.size() < kEliteCount || evaluation.latency_us <= fastest_.back().time.us;
  if (at_full_clock && warmed_up) at_full_clock_.insert(source_key);
  const auto behind =
      std::ranges::upper_bound(fastest_, evaluation.latency_us, {}, [](const Ranked& one) { return one.time.us; });
  fastest_.insert(behind, {{evaluation.latency_us, at_full_clock}, source_key});
  if (fastest_.size() > kEliteCount) fastest_.pop_back();
}

std::optional<ToBeat> RankedTimings::to_beat() const {
  if (fastest_.size() < kEliteCount) return std::nullopt;
  return fastest_.back().time;
}

void RankedTimings::remove(const std::string& source_key) {
  std::erase_if(fastest_, [&](const Ranked& one) { return one.source_key == source_key; });
}

}  // namespace evo

#include "engine/result/timing.h"

#include <fmt/format.h>

namespace evo {

bool is_full_clock(int sm_mhz, double full_mhz) {
  constexpr double kTolerance = 0.01;
  return sm_mhz > 0 && sm_mhz >= (1 - kTolerance) * full_mhz;
}

std::string to_text(const Conditions& conditions) {
  if (conditions.sm_mhz_high == 0) return "";
  std::string text = fmt::format("SM {}", conditions.sm_mhz_low);
  if (conditions.sm_mhz_high != conditions.sm_mhz_low) text += fmt::format("-{}", conditions.sm_mhz_high);
  text += conditions.power_limited ? " MHz (power limit)" : " MHz";
  if (conditions.memory_mhz > 0) text += fmt::format(", memory {} MHz", conditions.memory_mhz);
  if (conditions.temperature_c > 0) text += fmt::format(", {} C", conditions.temperature_c);
  return text;
}

}  // namespace evo

#include "engine/result/timing.h"

#include <fmt/format.h>

namespace evo {

bool is_full_clock(int sm_mhz, double full_mhz) {
  constexpr double kTolerance = 0.01;
  return sm_mhz > 0 && sm_mhz >= (1 - kTolerance) * full_mhz;
}

std::string to_text(const Conditions& conditions) {
  const auto& [low, high, memory, others, power_limited, temperature] = conditions;
  if (!low || !high) return "";
  std::string text = fmt::format("SM {}", *low);
  if (*high != *low) text += fmt::format("-{}", *high);
  text += power_limited ? " MHz (power limit)" : " MHz";
  if (memory) text += fmt::format(", memory {} MHz", *memory);
  if (temperature) text += fmt::format(", {} C", *temperature);
  return text;
}

}  // namespace evo

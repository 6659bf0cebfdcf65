#include "cli/subject/best_rival.h"

#include <fmt/format.h>

#include <algorithm>

namespace evo::cli {

std::string best_rival_text(const Sitting& sitting) {
  const RivalResult* best = best_rival(sitting);
  return best == nullptr ? "" : fmt::format("{:.3g}x the best rival ({}, same sitting)", best->ratio, best->name);
}

const Sitting* sitting_on(const std::vector<Sitting>& sittings, const DeviceRecord& device) {
  const auto found =
      std::ranges::find_if(sittings, [&](const Sitting& one) { return device_key(one.device) == device_key(device); });
  return found == sittings.end() ? nullptr : &*found;
}

std::string best_rival_text(const std::vector<Sitting>& sittings, const DeviceRecord& device) {
  const Sitting* sitting = sitting_on(sittings, device);
  return sitting == nullptr ? "" : best_rival_text(*sitting);
}

}  // namespace evo::cli

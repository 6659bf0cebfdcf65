#include "engine/search/named_bandit.h"

#include <algorithm>
#include <cmath>

namespace evo {

NamedBandit::NamedBandit(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (find(name) == nullptr) arms_.push_back({name});
}

NamedBandit::Arm* NamedBandit::find(const std::string& name) {
  const auto arm = std::ranges::find(arms_, name, &Arm::name);
  return arm == arms_.end() ? nullptr : &*arm;
}

std::string NamedBandit::next() const {
  double all = 0;
  for (const Arm& arm : arms_) {
    if (arm.asked == 0) return arm.name;
    all += std::max(arm.draws, 1.0);
  }
  // One that was asked and has brought nothing yet counts as one draw.
  const auto bound = [&](const Arm& arm) {
    const double draws = std::max(arm.draws, 1.0);
    return arm.brought / draws + std::sqrt(2 * std::log(all) / draws);
  };
  const auto best = std::ranges::max_element(arms_, {}, bound);
  return best == arms_.end() ? "" : best->name;
}

void NamedBandit::asked(const std::string& name) {
  if (Arm* arm = find(name)) ++arm->asked;
}

void NamedBandit::tell(const std::string& name, bool brought) {
  Arm* arm = find(name);
  if (arm == nullptr) return;
  arm->draws += 1;
  if (brought) arm->brought += 1;
}

void NamedBandit::drop(const std::string& name) {
  std::erase_if(arms_, [&](const Arm& arm) { return arm.name == name; });
}

}  // namespace evo

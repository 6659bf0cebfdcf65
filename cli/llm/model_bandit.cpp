#include "cli/llm/model_bandit.h"

#include <algorithm>
#include <cmath>

namespace evo::cli {

ModelBandit::ModelBandit(const std::vector<std::string>& models) {
  for (const std::string& model : models)
    if (find(model) == nullptr) arms_.push_back({model});
}

ModelBandit::Arm* ModelBandit::find(const std::string& model) {
  const auto arm = std::ranges::find(arms_, model, &Arm::model);
  return arm == arms_.end() ? nullptr : &*arm;
}

std::string ModelBandit::next() const {
  double all = 0;
  for (const Arm& arm : arms_) {
    if (arm.asked == 0) return arm.model;
    all += std::max(arm.draws, 1.0);
  }
  // A model that was asked and has brought nothing yet counts as one draw.
  const auto bound = [&](const Arm& arm) {
    const double draws = std::max(arm.draws, 1.0);
    return arm.brought / draws + std::sqrt(2 * std::log(all) / draws);
  };
  const auto best = std::ranges::max_element(arms_, {}, bound);
  return best == arms_.end() ? "" : best->model;
}

void ModelBandit::asked(const std::string& model) {
  if (Arm* arm = find(model)) ++arm->asked;
}

void ModelBandit::tell(const std::string& model, bool brought) {
  Arm* arm = find(model);
  if (arm == nullptr) return;
  arm->draws += 1;
  if (brought) arm->brought += 1;
}

void ModelBandit::drop(const std::string& model) {
  std::erase_if(arms_, [&](const Arm& arm) { return arm.model == model; });
}

}  // namespace evo::cli

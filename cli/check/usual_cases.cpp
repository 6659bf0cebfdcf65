#include "cli/check/usual_cases.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "evaluator/vgpu/cost/device_models.h"

namespace evo::cli {

std::vector<Case> usual_cases(const Task& task, const Target& target) {
  CasePlan plan = plan_cases(task, target, vgpu::kKind, kUsualSalt);
  const std::string& usual = task.regimes.front().name;
  std::ranges::stable_sort(plan.cases, {}, [&](const Case& one) {
    return std::pair(work_of(task, target.options, one.shape, kind_named(vgpu::kKind)),
                     one.regime.name == usual ? 0 : 1);
  });
  std::vector<Case> chosen;
  std::set<std::string> seen;
  for (Case& one : plan.cases)
    if (seen.insert(one.shape.name).second) chosen.push_back(std::move(one));
  return chosen;
}

std::vector<Case> cases_of_regimes(const Task& task, const Target& target) {
  const CasePlan plan = plan_cases(task, target, vgpu::kKind, kUsualSalt);
  std::vector<Case> cases;
  for (const Regime& regime : task.regimes_of(target.objective)) {
    const auto found = std::ranges::find_if(plan.cases, [&](const Case& one) {
      return one.shape.name == target.timed.front().name && one.regime.name == regime.name;
    });
    if (found != plan.cases.end()) cases.push_back(*found);
  }
  return cases;
}

}  // namespace evo::cli

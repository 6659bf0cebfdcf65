#pragma once

#include <vector>

#include "engine/result/profile.h"
#include "evaluator/vgpu/cost/cost_model.h"
#include "evaluator/vgpu/cost/device_models.h"

namespace evo::vgpu {

/// What the cost model knows of a launch, by the names of the hardware's counters. Busy shares are those of the busiest
/// SM. A cause of waiting stands under the warp state that shows it on a GPU (docs/profile.md has the list).
CounterValues modelled_counters(const DeviceModel& model, const LaunchCost& cost);
/// The same of every launch of a plan.
std::vector<LaunchProfile> modelled_launches(const DeviceModel& model, const PlanCost& cost);

}  // namespace evo::vgpu

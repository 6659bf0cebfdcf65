#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/text/terminal.h"
#include "evaluator/vgpu/cost/cost_model.h"

namespace evo::cli {

/// Where modelled time goes, for people: a column for each launch, the largest pipes and stalls first.
std::string cost_text(const vgpu::PlanCost& cost, const Terminal& terminal);

/// The same of one launch: an object, as docs/json.md describes it.
nlohmann::ordered_json cost_json(const vgpu::LaunchCost& cost);

}  // namespace evo::cli

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/text/terminal.h"
#include "engine/task/candidate.h"
#include "evaluator/vgpu/cost/cost_model.h"

namespace evo::cli {

/// Where modelled time goes, for people: a column for each launch, the largest pipes and stalls first.
std::string cost_text(const vgpu::PlanCost& cost, const Terminal& terminal);

/// The same of one launch: an object, as docs/json.md describes it.
nlohmann::ordered_json cost_json(const vgpu::LaunchCost& cost);

/// The lines of a program's source in which the warps of a launch spend half a percent of their time or more, the
/// dearest first, for people: the first ten. Empty where the compiler has left no lines.
std::string dear_lines_text(const vgpu::LaunchCost& cost, const Program& program, const Terminal& terminal);

/// The figures of a program's launch with its kernel and all of these lines, as docs/json.md describes it.
nlohmann::ordered_json launch_cost_json(const vgpu::LaunchCost& cost, const Program& program);

}  // namespace evo::cli

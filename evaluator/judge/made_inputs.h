#pragma once

#include <cstdint>
#include <string_view>

#include "engine/task/task.h"
#include "evaluator/device/input_recipe.h"

namespace evo {

/// The file of a task whose function make_inputs makes the inputs of the draw "@reference.py".
inline constexpr std::string_view kMakingFile = "reference.py";
/// The bytes that the inputs of a case from reference.py may have: they travel within messages.
inline constexpr std::uint64_t kMostMadeBytes = 64U << 20;

/// As make_recipe (evaluator/device/input_recipe.h), with what reference.py makes of the inputs that it draws
/// (docs/templates.md, "@reference.py"): its function make_inputs gets the shape's parameters, after
/// torch.manual_seed() of the case, and returns tensors by name. Throws as TorchProcess does, and usage_error for more
/// than kMostMadeBytes.
CaseRecipe recipe_of_case(const Task& task, const Bindings& options, const Shape& shape, const Regime& regime,
                          std::uint64_t seed, std::uint64_t salt);

}  // namespace evo

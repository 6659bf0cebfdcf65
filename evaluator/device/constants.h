#pragma once

#include <cstdint>
#include <optional>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"

namespace evo {

/// The bytes that fill a variable: those of an input of the plan, or of a value.
std::uint64_t bytes_of(const Constant& constant, const Plan& plan);

/// A failure unless the constant fills the variable exactly. `variable_bytes`: its size; empty when the program has
/// none of that name.
std::optional<Failure> misfit(const Constant& constant, const Plan& plan, std::optional<std::uint64_t> variable_bytes);

/// Whether variables of the program hold inputs. They are filled once for all timed calls, which then have one set of
/// inputs.
bool constants_hold_inputs(const Plan& plan);

}  // namespace evo

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Shapes that no search has validated, drawn from `salt`: two for each specialisation among the target's timed shapes,
/// with parameters of their own, of no more work than the device kind bears. A kernel that is right for its task is
/// right there.
std::vector<Shape> held_out_shapes(const Task& task, const Target& target, std::string_view device_kind,
                                   std::uint64_t salt);

}  // namespace evo::cli

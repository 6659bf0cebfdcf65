#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Random shapes that no search has used, drawn from `salt`: two for each specialisation of the target's timed shapes,
/// small enough for the device kind. A kernel that is correct for its task is correct for these shapes, too.
std::vector<Shape> held_out_shapes(const Task& task, const Target& target, std::string_view device_kind,
                                   std::uint64_t salt);

}  // namespace evo::cli

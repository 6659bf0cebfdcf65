#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/task/family.h"
#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo::cli {

/// A shape that nobody listed.
struct TriedShape {
  Shape shape;          ///< Named by its parameters: "N=33,S=129".
  std::string exclude;  ///< What the task's `requires` would say if there were no kernels for it: "S <= 64".
};

/// Sizes at which kernels break that were right at all others. Each parameter that varies (not a specialised one, nor
/// one that has the same value in all listed shapes and is not in `requires`) takes, one after the other, 1, the
/// neighbours of the family's tile sizes and of powers of two, and sizes beyond 2^15 and 2^16. The other parameters are
/// those of a listed shape, so small that a case costs at most `most_work`, or else 1. Once, all parameters are odd.
/// `requires` excludes shapes. Those that are listed are left out, and the most expensive ones where all together would
/// cost more than twice `most_work`.
std::vector<TriedShape> tried_shapes(const Task& task, const Target& target, const Family& family,
                                     std::string_view device_kind, double most_work);

/// The validated shapes of a target, each large one cut down until a case of it costs at most `most_work` on the device
/// kind: parameters that are not specialised are halved. `left_out` gets the names of those that cannot be.
std::vector<Shape> small_shapes(const Task& task, const Target& target, std::string_view device_kind, double most_work,
                                std::vector<std::string>& left_out);

/// "B=1,H=8".
std::string spelled(const Task& task, const Shape& shape);

}  // namespace evo::cli

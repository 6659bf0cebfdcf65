#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "evaluator/vgpu/ptx/ptx.h"

/// The reductions of the copy engine in memory: cp.reduce.async.bulk and red.async.
namespace evo::vgpu {

/// Combines `count` values in memory with others.
struct Reduction {
  using Combine = void (*)(std::byte* memory, const std::byte* values, std::size_t count);
  Combine combine = nullptr;
  std::uint32_t bytes = 0;  ///< Of a value.
};

/// `operation` is "add", "min", "max", "inc", "dec", "and", "or" or "xor". Nothing for a type that the operation does
/// not have. With `flush`, additions of f32 flush subnormals.
std::optional<Reduction> reduction_of(std::string_view operation, ptx::Type type, bool flush = false);

}  // namespace evo::vgpu

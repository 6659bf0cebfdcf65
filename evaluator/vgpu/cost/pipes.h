#pragma once

#include <string_view>

/// The pipes of an SM, and what warps wait for. Each of its kSubPartitions has a scheduler and pipes of its own.
namespace evo::vgpu {

enum class Pipe { issue, float_fma, alu, special, convert, tensor_core, shared_memory, global_memory, double_fma };
inline constexpr int kPipes = 9;
std::string_view name_of(Pipe pipe);

enum class Stall {
  none,
  dependence,
  shared_memory,
  global_memory,
  tensor_core,
  special,
  barrier,
  pipe_busy,
  async_copy
};
inline constexpr int kStalls = 9;
std::string_view name_of(Stall stall);

}  // namespace evo::vgpu

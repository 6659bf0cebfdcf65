#include "evaluator/vgpu/plan_parts.h"

#include <set>

namespace evo::vgpu {

DeviceAddress address_of(const Argument& argument, const Buffers& buffers) {
  return argument.kind == Argument::Kind::tensor ? buffers.tensors.at(argument.index)
                                                 : buffers.workspaces.at(argument.index);
}

std::int64_t footprint_of(const Plan& plan, const evo::Launch& planned) {
  std::set<std::size_t> tensors, workspaces;
  for (const Argument& argument : planned.arguments) {
    const bool mapped = argument.kind == Argument::Kind::tensor_map;
    const Argument& source = mapped ? plan.tensor_maps.at(argument.index).source : argument;
    if (source.kind == Argument::Kind::tensor) tensors.insert(source.index);
    if (source.kind == Argument::Kind::workspace) workspaces.insert(source.index);
  }
  std::uint64_t bytes = 0;
  for (const std::size_t index : tensors) bytes += plan.tensors.at(index).bytes;
  for (const std::size_t index : workspaces) bytes += plan.workspaces.at(index).bytes;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace evo::vgpu

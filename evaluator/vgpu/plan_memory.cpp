#include "evaluator/vgpu/plan_memory.h"

#include <set>

#include "evaluator/base/random.h"
#include "evaluator/device/digest.h"

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

std::vector<DeviceRange> written_by(const LoadedModule& module, const Plan& plan, const Buffers& buffers) {
  std::vector<DeviceRange> written;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    if (plan.tensors[i].output) written.push_back({buffers.tensors.at(i), plan.tensors[i].bytes});
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i)
    written.push_back({buffers.workspaces.at(i), plan.workspaces[i].bytes});
  for (const auto& variable : module.variables()) written.push_back({variable.address, variable.bytes});
  return written;
}

void open_only(GlobalMemory& memory, const LoadedModule& module, const Plan& plan, const Buffers& buffers) {
  std::vector<std::uint64_t> own = buffers.tensors;
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) own.push_back(buffers.workspaces.at(i));
  for (const auto& variable : module.variables()) own.push_back(variable.address);
  memory.close_all_but(own);
}

std::uint64_t salt_of(const GlobalMemory& memory, const Plan& plan, const Buffers& buffers) {
  std::uint64_t salt = 0;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const std::size_t bytes = plan.tensors[i].bytes;
    if (plan.tensors[i].drawn() && bytes > 0)
      salt = mix(salt, digest_of({memory.at(buffers.tensors.at(i), bytes), bytes}, salt));
  }
  return salt;
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/plan_memory.h"

#include <fmt/core.h>

#include <cstring>
#include <set>
#include <utility>

#include "evaluator/base/random.h"
#include "evaluator/device/digest.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/numbers/tensor_map.h"

namespace evo::vgpu {

DeviceAddress address_of(const Argument& argument, const Buffers& buffers) {
  return argument.kind == Argument::Kind::tensor ? buffers.tensors.at(argument.index)
                                                 : buffers.workspaces.at(argument.index);
}

std::optional<Failure> bind_arguments(const Kernel& kernel, const Plan& plan, const evo::Launch& planned,
                                      const Buffers& buffers, std::vector<std::byte>& parameters) {
  const auto refusal = [](std::string reason) { return failure_of(Verdict::launch_failed, std::move(reason)); };
  if (kernel.parameters.size() != planned.arguments.size()) {
    return refusal(fmt::format("kernel {} takes {} arguments, the plan passes {}", kernel.name,
                               kernel.parameters.size(), planned.arguments.size()));
  }
  parameters.assign(kernel.parameter_bytes, std::byte{0});
  for (std::size_t i = 0; i < planned.arguments.size(); ++i) {
    const Argument& argument = planned.arguments[i];
    std::uint64_t address = 0;
    TensorMapObject map;
    std::vector<std::byte> fields;
    const void* value = &address;
    std::size_t bytes = sizeof address;
    switch (argument.kind) {
      case Argument::Kind::tensor:
      case Argument::Kind::workspace:
        address = address_of(argument, buffers);
        break;
      case Argument::Kind::value:
        fields = bytes_of(argument.fields);
        value = fields.data();
        bytes = fields.size();
        break;
      case Argument::Kind::tensor_map: {
        const TensorMap& mapped = plan.tensor_maps.at(argument.index);
        std::string refused;
        map = tensor_map_of(mapped, address_of(mapped.source, buffers), refused);
        if (!refused.empty()) return refusal(fmt::format("tensor map {} {}", mapped.name, refused));
        value = &map;
        bytes = kTensorMapBytes;
        break;
      }
    }
    if (kernel.parameters[i].bytes != bytes) {
      return refusal(fmt::format("kernel {}: argument {} has {} bytes, the plan passes {}", kernel.name, i,
                                 kernel.parameters[i].bytes, bytes));
    }
    std::memcpy(parameters.data() + kernel.parameters[i].offset, value, bytes);
  }
  return std::nullopt;
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

CallBuffers::CallBuffers(GlobalMemory* memory, const Buffers& buffers) : memory_(memory), addresses_(buffers) {
  if (memory_ == nullptr) return;
  for (std::vector<DeviceAddress>* addresses : {&addresses_.tensors, &addresses_.workspaces}) {
    for (DeviceAddress& address : *addresses) {
      const std::uint64_t by = memory_->move_away(address);
      if (by == 0) continue;
      address += by;
      moves_.push_back({address, by});
    }
  }
}

CallBuffers::~CallBuffers() {
  // Another buffer may have been moved to where one was.
  for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) memory_->move(move->to, 0 - move->by);
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

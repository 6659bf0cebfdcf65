#include <algorithm>

#include "engine/base/demangled.h"
#include "evaluator/vgpu/decode/kernel_builder.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/ptx/load_error.h"

// Where variables are: in shared memory, among the parameters, in a thread's own memory.
namespace evo::vgpu {
namespace {

// A thread's local memory on every architecture here (CUDA C++ Programming Guide, "Technical Specifications"); shared
// memory and parameters have less, which the launch checks.
constexpr std::uint64_t kMaxSpaceBytes = 512 * 1024;
// What cooperative groups expect to be theirs (cooperative_groups/details/memory.h).
constexpr std::uint32_t kCooperativeSmemBytes = 288;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

LoadError unplaced(const ptx::Variable& variable, const std::string& why) {
  return LoadError("variable '" + std::string(variable.name) + "'" + why);
}

bool names(const ptx::Operand& operand, std::string_view special) {
  return operand.kind == ptx::Operand::Kind::special && operand.name == special;
}

void module_variables_used(const ptx::Operand& operand, std::set<std::uint32_t>& found) {
  if (operand.kind == ptx::Operand::Kind::variable && operand.of_module) found.insert(operand.index);
  for (const ptx::Operand& element : operand.elements) module_variables_used(element, found);
}

/// "tile" from _ZZ6kernelPfE4tile: the name within its function.
std::string readable(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  const std::string whole = demangled(name);
  const std::size_t colons = whole.rfind("::");
  return colons == std::string::npos ? whole : whole.substr(colons + 2);
}

}  // namespace

/// Shared memory of the module that the kernel uses, then of the functions: all before the dynamic part.
void KernelBuilder::place_shared(const std::set<const ptx::Function*>& reachable) {
  std::set<std::uint32_t> used;
  bool reserves = false;
  for (const ptx::Function* function : reachable) {
    for (const ptx::Statement& statement : function->body) {
      for (const ptx::Operand& operand : statement.operands) {
        module_variables_used(operand, used);
        reserves |= names(operand, "%reserved_smem_offset_1");
        kernel_->cooperative |= names(operand, "%envreg1") || names(operand, "%envreg2");
      }
    }
  }
  if (reserves) {
    ptx::Variable reserved;
    reserved.name = "(cooperative groups)";
    reserved.align = 16;
    reserved.bytes = kCooperativeSmemBytes;
    kernel_->reserved_smem_bytes = kCooperativeSmemBytes;
    kernel_->reserved_smem = allocate(kernel_->static_smem_bytes, reserved);
  }
  std::uint32_t dynamic_align = 16;
  for (const std::uint32_t index : used) {
    const ptx::Variable& variable = module_.variables[index];
    if (variable.space != ptx::Space::shared) continue;
    if (variable.unsized) {
      dynamic_align = std::max(dynamic_align, static_cast<std::uint32_t>(variable.align));
      dynamic_shared_.push_back(index);
    } else {
      shared_variables_[index] = allocate(kernel_->static_smem_bytes, variable);
    }
  }
  for (const ptx::Function& function : module_.functions) {
    if (!reachable.contains(&function)) continue;
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space != ptx::Space::shared) continue;
      function_shared_[&variable] = allocate(kernel_->static_smem_bytes, variable);
    }
  }
  name_shared_variables();
  kernel_->static_smem_bytes = static_cast<std::uint32_t>(round_up(kernel_->static_smem_bytes, dynamic_align));
  for (const std::uint32_t index : dynamic_shared_) shared_variables_[index] = kernel_->static_smem_bytes;
}

void KernelBuilder::name_shared_variables() {
  const auto add = [&](const ptx::Variable& variable, std::uint32_t offset) {
    kernel_->shared_variables.push_back(
        {readable(variable.name), kReservedSmemBytes + offset, static_cast<std::uint32_t>(variable.bytes)});
  };
  for (const auto& [index, offset] : shared_variables_) add(module_.variables[index], offset);
  for (const auto& [variable, offset] : function_shared_) add(*variable, offset);
  if (!dynamic_shared_.empty()) kernel_->dynamic_smem_name = readable(module_.variables[dynamic_shared_.front()].name);
}

std::uint32_t KernelBuilder::allocate(std::uint32_t& space, const ptx::Variable& variable) {
  const std::uint64_t at = round_up(space, std::max<std::uint64_t>(variable.align, 1));
  if (at + variable.bytes > kMaxSpaceBytes) throw unplaced(variable, " does not fit its state space");
  space = static_cast<std::uint32_t>(at + variable.bytes);
  return static_cast<std::uint32_t>(at);
}

void KernelBuilder::place_parameters(Frame& frame) {
  for (std::size_t i = 0; i < entry_.parameter_count; ++i) {
    const ptx::Variable& variable = entry_.variables[i];
    const std::uint32_t offset = allocate(kernel_->parameter_bytes, variable);
    kernel_->parameters.push_back({offset, static_cast<std::uint32_t>(variable.bytes), variable.type});
    frame.variables.push_back({ptx::Space::param, offset});
  }
}

void KernelBuilder::place_locals(Frame& frame, std::size_t first) {
  std::uint32_t& local = in_procedure() ? kernel_->procedures[procedure_].frame_bytes : kernel_->local_bytes;
  for (std::size_t i = first; i < frame.function->variables.size(); ++i) {
    const ptx::Variable& variable = frame.function->variables[i];
    switch (variable.space) {
      case ptx::Space::local:
      case ptx::Space::param:  // Of a call in this function: a thread's own, like a local variable.
        frame.variables.push_back({ptx::Space::local, allocate(local, variable), in_procedure()});
        break;
      case ptx::Space::shared:
        frame.variables.push_back({ptx::Space::shared, kReservedSmemBytes + function_shared_.at(&variable)});
        break;
      default:
        throw unplaced(variable, ": its state space is not supported inside a function");
    }
  }
}

KernelBuilder::VariablePlace KernelBuilder::place_of(const ptx::Operand& variable) {
  if (!variable.of_module) return frames_.back().variables[variable.index];
  const ptx::Variable& declared = module_.variables[variable.index];
  if (declared.space == ptx::Space::shared) {
    return {ptx::Space::shared, kReservedSmemBytes + std::uint64_t{shared_variables_.at(variable.index)}};
  }
  if (declared.space != ptx::Space::global && declared.space != ptx::Space::constant) {
    throw unplaced(declared, ": its state space is not supported");
  }
  return {declared.space, layout_.address[variable.index]};
}

const ptx::Variable& KernelBuilder::declared(const ptx::Operand& variable) const {
  return (variable.of_module ? module_.variables : frames_.back().function->variables)[variable.index];
}

std::uint64_t KernelBuilder::bytes_of(const ptx::Operand& variable) const {
  return declared(variable).bytes;
}

Place KernelBuilder::address_constant(const ptx::Operand& variable, std::uint64_t address, bool wide) {
  const VariablePlace at = place_of(variable);
  if (at.space != ptx::Space::shared && at.space != ptx::Space::local) return constant(address, wide);
  const auto [found, fresh] = address_constants_.try_emplace({address, wide, at.space, at.address}, 0);
  if (!fresh) return found->second;
  found->second = new_constant(address, wide);
  const ptx::Variable& of = declared(variable);
  const auto begin = static_cast<std::uint32_t>(at.address);
  const std::uint32_t end = of.unsized ? kNowhere : begin + static_cast<std::uint32_t>(of.bytes);
  kernel_->variable_addresses.push_back({found->second, at.space, readable(of.name), begin, end});
  return found->second;
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/isa/instruction_set.h"

#include <unordered_map>

#include "evaluator/vgpu/isa/operations.h"

namespace evo::vgpu {
namespace {

struct Subject {
  std::string_view title;
  std::span<const Operation> (*operations)();
};
constexpr Subject kSubjects[] = {
    {"integer arithmetic", integer_operations},
    {"logic, shifts, bits", bit_operations},
    {"extended precision", carry_operations},
    {"video", video_operations},
    {"f32 and f64 arithmetic", float_operations},
    {"f16 and bf16 arithmetic", half_operations},
    {"comparison, selection", compare_operations},
    {"conversion", convert_operations},
    {"moves, address spaces", move_operations},
    {"loads and stores", memory_operations},
    {"atomics", atomic_operations},
    {"asynchronous copies", async_operations},
    {"barriers in memory", mbarrier_operations},
    {"tensor maps", tensor_operations},
    {"textures", texture_operations},
    {"surfaces", surface_operations},
    {"clusters, registers", cluster_operations},
    {"warp", warp_operations},
    {"matrices", matrix_operations},
    {"warpgroup products", warpgroup_operations},
    {"tensor memory", tcgen05_operations},
    {"wmma", wmma_operations},
    {"barriers", barrier_operations},
    {"control flow", control_operations},
    {"stack", stack_operations},
    {"fences and hints", hint_operations},
};

using Table = std::unordered_multimap<std::string_view, Operation>;

const Table& table() {
  static const Table all = [] {
    Table result;
    for (const Subject& subject : kSubjects) {
      for (const Operation& operation : subject.operations()) result.emplace(operation.name, operation);
    }
    return result;
  }();
  return all;
}

Operands operands_of(const ptx::Statement& statement) {
  for (std::size_t i = statement.parts.size(); i-- > 1;) {
    switch (ptx::parse_type(statement.parts[i])) {
      case ptx::Type::none:
        continue;
      case ptx::Type::f32:
      case ptx::Type::f32x2:
      case ptx::Type::f64:
        return Operands::singles;
      case ptx::Type::f16:
      case ptx::Type::f16x2:
      case ptx::Type::bf16:
      case ptx::Type::bf16x2:  // Sums in f32 with sources of 16 bits (add.f32.f16) are f32 arithmetic.
        return ptx::parse_type(statement.parts[i - 1]) == ptx::Type::f32 ? Operands::singles : Operands::halves;
      default:
        return Operands::integers;
    }
  }
  return Operands::any;
}

}  // namespace

DecodeFunction find_operation(const ptx::Statement& statement) {
  const Operands wanted = operands_of(statement);
  const auto [first, last] = table().equal_range(statement.parts[0]);
  for (auto at = first; at != last; ++at) {
    if (at->second.operands == Operands::any || at->second.operands == wanted) return at->second.decode;
  }
  return nullptr;
}

std::string instruction_table() {
  std::string text = "| subject | instructions |\n|---|---|\n";
  for (const Subject& subject : kSubjects) {
    text += "| " + std::string(subject.title) + " |";
    for (const Operation& operation : subject.operations()) text += " " + std::string(operation.name);
    text += " |\n";
  }
  return text;
}

}  // namespace evo::vgpu

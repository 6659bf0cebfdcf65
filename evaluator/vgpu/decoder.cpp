#include "evaluator/vgpu/decoder.h"

#include <algorithm>
#include <unordered_map>

#include "evaluator/vgpu/kernel_builder.h"

namespace evo::vgpu {
namespace {

constexpr std::span<const Operation> (*kSubjects[])() = {
    integer_operations, bit_operations,     carry_operations,   float_operations,
    half_operations,    compare_operations, convert_operations, move_operations,
    memory_operations,  atomic_operations,  async_operations,   warp_operations,
    matrix_operations,  barrier_operations, control_operations, hint_operations,
};

using Table = std::unordered_multimap<std::string_view, Operation>;

const Table& table() {
  static const Table all = [] {
    Table result;
    for (const auto subject : kSubjects) {
      for (const Operation& operation : subject()) result.emplace(operation.name, operation);
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
      case ptx::Type::f64:
        return Operands::singles;
      case ptx::Type::f16:
      case ptx::Type::f16x2:
      case ptx::Type::bf16:
      case ptx::Type::bf16x2:
        return Operands::halves;
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

std::vector<std::string_view> known_instructions() {
  std::vector<std::string_view> names;
  for (const auto& [name, operation] : table()) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Simd best_simd() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const Simd best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return Simd::avx512;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Simd::avx2 : Simd::plain;
  }();
  return best;
#else
  return Simd::plain;
#endif
}

std::unique_ptr<Kernel> decode_kernel(const ptx::Module& module, const ptx::Function& entry,
                                      const ModuleLayout& layout, const DecodeOptions& options) {
  return KernelBuilder(module, entry, layout, options).build();
}

}  // namespace evo::vgpu

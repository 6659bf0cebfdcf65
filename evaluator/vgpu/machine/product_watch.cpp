#include "evaluator/vgpu/machine/product_watch.h"

#include <algorithm>

namespace evo::vgpu {
namespace {

/// Stands for a group: of a tcgen05.ld.
constexpr std::uint32_t kLoading = 0xffff'ffffu;

}  // namespace

void ProductWatch::start(std::uint32_t registers) {
  products.clear();
  group_of.assign(registers, 0);
  read_by.assign(registers, 0);
  written.assign(registers, 0);
  committed = 0;
  issued = 0;
  fenced = false;
}

const char* ProductWatch::touch(const ProductRegisters& registers, std::uint32_t index, OpClass op_class) {
  if (op_class == OpClass::warpgroup_product) return nullptr;  // Looks for itself.
  // The compiler moves accumulators about while products are under way; ptxas removes the moves.
  const bool moves = op_class == OpClass::nothing;
  std::uint32_t moved_group = 0;
  std::uint8_t moved_written = 0;
  for (std::uint32_t u = registers.first_use[index]; u < registers.first_use[index + 1]; ++u) {
    const auto [reg, write] = registers.uses[u];
    if (moves && !write) {
      moved_group = std::max(moved_group, group_of[reg]);
      moved_written |= written[reg];
    } else if (!moves && group_of[reg] == kLoading) {
      return write ? "writes a register of a tcgen05.ld that has not been waited for (tcgen05.wait::ld)"
                   : "reads a register of a tcgen05.ld that has not been waited for (tcgen05.wait::ld)";
    } else if (!moves && group_of[reg] != 0) {
      return write ? "writes an accumulator of a wgmma that has not been waited for (wgmma.wait_group)"
                   : "reads an accumulator of a wgmma that has not been waited for (wgmma.wait_group)";
    }
  }
  for (std::uint32_t u = registers.first_use[index]; u < registers.first_use[index + 1]; ++u) {
    const auto [reg, write] = registers.uses[u];
    if (!write) continue;
    if (read_by[reg] != 0)
      return "writes a register of A while a wgmma that has not been waited for reads it (wgmma.wait_group)";
    group_of[reg] = moved_group;
    written[reg] = moves ? moved_written : 1;
  }
  return nullptr;
}

void ProductWatch::begin_load(const ProductRegisters& registers, std::uint32_t index) {
  for (std::uint32_t u = registers.first_use[index]; u < registers.first_use[index + 1]; ++u)
    if (registers.uses[u].write) group_of[registers.uses[u].reg] = kLoading;
}

void ProductWatch::end_loads() {
  std::ranges::replace(group_of, kLoading, 0u);
}

}  // namespace evo::vgpu

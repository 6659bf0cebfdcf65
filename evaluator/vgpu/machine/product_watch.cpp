#include "evaluator/vgpu/machine/product_watch.h"

#include <algorithm>

#include "evaluator/vgpu/machine/block.h"

namespace evo::vgpu {

void ProductWatch::start(std::uint32_t registers) {
  products.clear();
  group_of.assign(registers, 0);
  read_by.assign(registers, 0);
  written.assign(registers, 0);
  committed = 0;
  issued = 0;
  fenced = false;
}

void watch_registers(Warp& warp, const Instruction& instruction) {
  const Kernel& kernel = *warp.launch->kernel;
  const ProductRegisters& registers = kernel.product_registers;
  const auto index = static_cast<std::size_t>(&instruction - kernel.code.data());
  const OpClass op_class = kernel.trace.traced[index].op_class;
  if (op_class == OpClass::warpgroup_product) return;  // Looks for itself.
  ProductWatch& watch = warp.products;
  // The compiler moves accumulators about while products are under way; ptxas removes the moves.
  const bool moves = op_class == OpClass::nothing;
  std::uint32_t moved_group = 0;
  std::uint8_t moved_written = 0;
  for (std::uint32_t u = registers.first_use[index]; u < registers.first_use[index + 1]; ++u) {
    const auto [reg, write] = registers.uses[u];
    if (moves && !write) {
      moved_group = std::max(moved_group, watch.group_of[reg]);
      moved_written |= watch.written[reg];
    } else if (!moves && watch.group_of[reg] != 0) {
      warp.fail(instruction, write ? "writes an accumulator of a wgmma that has not been waited for (wgmma.wait_group)"
                                   : "reads an accumulator of a wgmma that has not been waited for (wgmma.wait_group)");
      return;
    }
  }
  for (std::uint32_t u = registers.first_use[index]; u < registers.first_use[index + 1]; ++u) {
    const auto [reg, write] = registers.uses[u];
    if (!write) continue;
    if (watch.read_by[reg] != 0) {
      warp.fail(instruction,
                "writes a register of A while a wgmma that has not been waited for reads it (wgmma.wait_group)");
      return;
    }
    watch.group_of[reg] = moved_group;
    watch.written[reg] = moves ? moved_written : 1;
  }
}

}  // namespace evo::vgpu

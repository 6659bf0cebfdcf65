#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/vgpu/machine/trace.h"
#include "evaluator/vgpu/numbers/shared_matrix.h"

/// Asynchrony of wgmma (PTX ISA 9.0, 9.7.15.1 and 9.7.15.7), and of tcgen05.ld, whose registers are watched alike. A
/// product is computed when it is issued. Its asynchrony is only checked: nothing may touch its accumulators, or write
/// the shared memory that it reads, until it has been waited for.
namespace evo::vgpu {

struct Instruction;

/// Which instructions of a kernel read or write registers that a product may be using: operands of wgmma itself,
/// results of tcgen05.ld, and registers that either are moved to. Registers are numbered densely.
struct ProductRegisters {
  struct Use {
    std::uint32_t reg = 0;
    bool write = false;
  };
  std::uint32_t count = 0;
  std::vector<Use> uses;
  std::vector<std::uint32_t> first_use;  ///< Of each instruction, and one more; empty for a kernel without these.
};

/// A warp's products under way.
struct ProductWatch {
  struct Product {
    std::uint32_t group = 0;
    const Instruction* issued_in = nullptr;
    SharedPart a;  ///< Without rows when A is in registers.
    SharedPart b;
    std::uint64_t checksum = 0;
  };
  std::vector<Product> products;
  std::vector<std::uint32_t> group_of;  ///< Of each accumulator register under way its group + 1; else 0.
  std::vector<std::uint32_t> read_by;   ///< The same of registers that hold A.
  std::vector<std::uint8_t> written;    ///< Since the last wgmma.fence, by anything but wgmma.
  std::uint32_t committed = 0;          ///< Groups.
  std::uint64_t issued = 0;             ///< Products, to compare the warps of a warpgroup.
  bool fenced = false;

  void start(std::uint32_t registers);
  /// An ordinary instruction is about to run. What is wrong when it touches a product's registers too early; else null.
  const char* touch(const ProductRegisters& registers, std::uint32_t index, OpClass op_class);
  /// A tcgen05.ld's results are under way until all loads have been waited for.
  void begin_load(const ProductRegisters& registers, std::uint32_t index);
  void end_loads();
};

}  // namespace evo::vgpu

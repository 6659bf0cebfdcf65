#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/machine/trace.h"

/// Which PTX instructions survive in ptxas's machine code, as far as this affects a kernel's time: sums become address
/// offsets, pairs of operations become one instruction of three operands, and constant values are computed once. No
/// attempt at scheduling or register allocation.
namespace evo::vgpu {

/// One instruction of a kernel, in order.
struct PtxInstruction {
  std::string_view opcode;  ///< "add.s32"
  OpClass op_class = OpClass::nothing;
  bool guarded = false;              ///< By a predicate.
  std::uint32_t block = 0;           ///< Number of its basic block.
  std::vector<std::uint32_t> reads;  ///< Registers of the function, predicates included.
  std::vector<std::uint32_t> writes;
  std::optional<std::uint64_t> constant;  ///< An operand that is a number.
};

enum class Fate : std::uint8_t {
  issues,
  once,    ///< Its operands are the same every time: kept in a register.
  folded,  ///< Part of another instruction.
};

/// One for each instruction. `registers`: one more than the highest number.
std::vector<Fate> fates_of(std::span<const PtxInstruction> instructions, std::uint32_t registers);

}  // namespace evo::vgpu

#pragma once

#include <array>
#include <cstdint>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/tcgen05/tensor_memory.h"

/// What the instructions of tensor memory share (PTX ISA 9.0, 9.7.16).
namespace evo::vgpu {

/// False when the warp has failed: a region's columns are not allocated, or an operation is under way that must end
/// first.
bool may_begin(Warp& warp, const Instruction& in, int lane, TensorMemory& memory, const TensorOperation& operation);

/// The block's tensor memory, with that of the pair's other block behind it where `blocks` is 2. Sorted by rank. Fails
/// the warp where there is no pair. Null pointers: there is none.
std::array<Block*, 2> blocks_of(Warp& warp, const Instruction& in, int lane, int blocks);

/// A number for operations, ascending by issue in the cluster.
std::uint64_t next_operation(const Warp& warp);

// Decoding
/// ".cta_group::1" or "::2", consumed: how many blocks take part. All instructions of a kernel must agree.
int take_block_group(Form& form);
/// Fills the next operand with a tensor-memory address in brackets, and returns its offset.
std::uint32_t take_tensor_address(Form& form, const ptx::Operand& operand, bool in_list = false);

void decode_tensor_product(Form& form);  ///< tcgen05.mma
void decode_tensor_copy_in(Form& form);  ///< tcgen05.cp
void decode_tensor_shift(Form& form);    ///< tcgen05.shift
void decode_tensor_commit(Form& form);   ///< tcgen05.commit

}  // namespace evo::vgpu

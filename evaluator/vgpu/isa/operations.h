#pragma once

#include <span>
#include <string_view>

#include "evaluator/vgpu/decode/operation.h"
#include "evaluator/vgpu/parts/choose.h"

namespace evo::vgpu {

/// The instruction set, by subject. integer_operations() stands in integer_operations.cpp, and the others likewise.
/// Each list is complete for its names: a decode function refuses the forms that it does not know.
std::span<const Operation> integer_operations();
std::span<const Operation> bit_operations();
std::span<const Operation> carry_operations();
std::span<const Operation> video_operations();
std::span<const Operation> float_operations();
std::span<const Operation> half_operations();
std::span<const Operation> compare_operations();
std::span<const Operation> convert_operations();
std::span<const Operation> move_operations();
std::span<const Operation> memory_operations();
std::span<const Operation> atomic_operations();
std::span<const Operation> async_operations();
std::span<const Operation> mbarrier_operations();
std::span<const Operation> tensor_operations();
std::span<const Operation> texture_operations();
std::span<const Operation> surface_operations();
std::span<const Operation> cluster_operations();
std::span<const Operation> warp_operations();
std::span<const Operation> matrix_operations();
std::span<const Operation> warpgroup_operations();
std::span<const Operation> tcgen05_operations();
std::span<const Operation> wmma_operations();
std::span<const Operation> barrier_operations();
std::span<const Operation> hint_operations();
std::span<const Operation> control_operations();
std::span<const Operation> stack_operations();

/// A call of a function that the module declares and the interpreter provides: vprintf, __assertfail, malloc, free.
void call_provided(Form& form, std::string_view name, const ptx::Operand* results, const ptx::Operand* arguments);

// Forms that the file of another subject decodes. Their distinguishing modifiers have been taken.
void decode_cluster_barrier(Form& form);      ///< barrier.cluster
void decode_async_store(Form& form);          ///< st.async
void decode_async_reduction(Form& form);      ///< red.async
void decode_bulk(Form& form);                 ///< cp.async.bulk and cp.reduce.async.bulk
void decode_tensor_copy(Form& form);          ///< cp.async.bulk.tensor
void decode_tensor_prefetch(Form& form);      ///< cp.async.bulk.prefetch.tensor
void decode_arrive_after_copies(Form& form);  ///< cp.async.mbarrier.arrive
void decode_texture_query(Form& form);        ///< txq
void decode_surface_query(Form& form);        ///< suq
// Extended-precision arithmetic: the forms that set (.cc) or use (the name's final c) the carry.
void decode_add_with_carry(Form& form, bool uses_carry, bool sets_carry);
void decode_sub_with_borrow(Form& form, bool uses_carry, bool sets_carry);
void decode_mad_with_carry(Form& form, std::string_view part, bool uses_carry, bool sets_carry);

}  // namespace evo::vgpu

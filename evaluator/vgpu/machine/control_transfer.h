#pragma once

#include <cstdint>

#include "evaluator/vgpu/machine/instruction.h"

/// Instructions that move a warp's lanes to another place of the kernel: reconvergence points, exits, polls, calls and
/// returns. The decoder inserts some of them itself.
///
/// A call keeps apart, lane by lane, what the callee may change: every row that it writes, the caller's frame and where
/// to go on.
namespace evo::vgpu {

/// A reconvergence point: the lanes that a branch has divided meet here.
void execute_reconverge(Warp& warp, const Instruction& in, std::uint32_t mask);
/// The lanes' end of the kernel.
void execute_exit(Warp& warp, const Instruction& in, std::uint32_t mask);

/// A branch back to the begin of a loop that polls memory and writes nothing (Warp::polled).
void execute_polling_branch(Warp& warp, const Instruction& in, std::uint32_t mask);
/// The same where no round leaves anything to the next one but what it has read.
void execute_waiting_branch(Warp& warp, const Instruction& in, std::uint32_t mask);

/// in.immediate is the CallSite. The instruction behind it is where lanes meet again.
void execute_call(Warp& warp, const Instruction& in, std::uint32_t mask);
/// op[0] is the function's address.
void execute_call_through_pointer(Warp& warp, const Instruction& in, std::uint32_t mask);
void execute_return(Warp& warp, const Instruction& in, std::uint32_t mask);

}  // namespace evo::vgpu

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/numbers/reduction.h"

/// Bulk copies, bulk tensor copies and st.async share how they are issued, and how they signal their end.
///
/// In their instructions op[3] is the base of the mbarrier, op[4] the mask of blocks, op[5] the reduction; aux0 has
/// the target's mode in its low byte, the mbarrier's in the next, then kMulticast; the upper half of `immediate` is
/// the mbarrier's offset.
namespace evo::vgpu {

constexpr std::uint32_t kMulticast = 1u << 16;
constexpr std::string_view kReductions[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

enum class BulkEnd : std::uint8_t { mbarrier, group };

struct BulkTraffic {
  std::uint32_t bytes = 0;
  bool global = false;
  bool writes = false;  ///< Out of shared memory.
};

/// A lane's address: its base register plus an offset of 32 bits.
std::uint64_t address_in(const Warp& warp, Place base, AccessMode mode, std::uint32_t offset, int lane);

/// Puts an operation into the lane's current bulk group. `settle`: BulkOperation's.
void add_to_group(Warp& warp, const Instruction& in, int lane, std::function<void()> perform,
                  std::function<void()> settle);

/// Notes the copy for the tracer. `barrier` is the mbarrier of the own block that it signals, or null.
void note_copy(Warp& warp, const BulkTraffic& traffic, const Mbarrier* barrier);

/// Issues a copy to the target's block, or to all blocks that the mask names. `deliver(block)` makes what performs it
/// there. Each copy completes `bytes` of its block's mbarrier. False when the warp has failed.
bool issue_to_blocks(Warp& warp, const Instruction& in, int lane, const SharedPlace& target, const BulkTraffic& traffic,
                     const std::function<std::function<void()>(Block& block)>& deliver);

/// Whether the kernel was launched in clusters, even of one block. Without clusters red.async, and cp.reduce.async.bulk
/// into shared memory, are illegal instructions on a GPU.
bool is_in_cluster(const Warp& warp);

Reduction reduction_in(const Instruction& in);

// Decoding
/// ".mbarrier::complete_tx::bytes" or ".bulk_group", consumed.
BulkEnd take_bulk_end(Form& form);
/// op[3] and op[4] from the operands of these numbers. 0: there is none.
void take_completion_barrier(Form& form, std::size_t barrier, std::size_t block_mask);
/// The number in kReductions of the operation among the modifiers, consumed.
std::uint32_t take_reduction(Form& form);
/// op[5] for a reduction of one type.
std::uint32_t encoded_reduction(Form& form, std::uint32_t number, ptx::Type type);

}  // namespace evo::vgpu

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "evaluator/vgpu/numbers/mma_form.h"

/// The events of a block that the interpreter reports to the cost model. The interpreter runs a warp until it has to
/// wait, then the next one. Events of one warp come in program order. Every arrival that lets a warp pass a barrier
/// comes before that warp's next event. The order of warps says nothing about time.
namespace evo::vgpu {

/// The kind of machine work behind a PTX instruction: decides pipe, rate and latency.
enum class OpClass : std::uint8_t {
  nothing,           ///< ptxas removes it or folds it: register moves, packing, address-space casts, hints.
  integer,           ///< ALU: add, logic, shift, compare, select, min, max, prmt, lop3, predicate logic.
  integer_multiply,  ///< IMAD in all forms, dp4a.
  bit_search,        ///< popc, clz, bfind, brev: quarter rate or slower.
  float_fma,         ///< f32 add, mul, fma.
  float_compare,     ///< f32 min, max, set, abs/neg that is not folded: on the ALU.
  half_fma,          ///< f16, bf16 and their pairs: add, mul, fma.
  half_compare,      ///< f16, bf16 and their pairs: min, max, set.
  double_fma,        ///< f64 arithmetic and comparison.
  special,           ///< MUFU: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh.
  convert,           ///< Between integer and float, or f64: at the rate of MUFU.
  convert_pack,      ///< Between f32 and f16, bf16 and their pairs.
  convert_to_fp8,    ///< Pairs of f32 or f16 to pairs of 8-bit floats.
  convert_from_fp8,  ///< And back to f16x2.
  shuffle,           ///< shfl: through the shared-memory data path.
  vote,              ///< vote, match, activemask, elect.
  redux,             ///< redux.sync.
  load,              ///< `memory` says where.
  store,
  atomic,             ///< Returns the old value.
  reduction,          ///< red: nothing returns.
  async_copy,         ///< cp.async: reads global, writes shared later.
  async_commit,       ///< cp.async.commit_group.
  async_wait,         ///< cp.async.wait_group N (`pending_groups`), wait_all.
  matrix_load,        ///< ldmatrix.
  matrix_store,       ///< stmatrix.
  matrix_product,     ///< mma.sync: `mma` says which.
  warpgroup_product,  ///< wgmma.mma_async: `mma` says which; each of four warps issues its quarter.
  warpgroup_fence,    ///< wgmma.fence.
  warpgroup_commit,   ///< wgmma.commit_group.
  warpgroup_wait,     ///< wgmma.wait_group N (`pending_groups`).
  tensor_product,     ///< tcgen05.mma, cp, shift: `mma` says the types, `async` the work; one tensor core of the SM.
  tensor_commit,      ///< tcgen05.commit: arrives at an mbarrier once the warp's products have ended.
  tensor_load,        ///< tcgen05.ld.
  tensor_store,       ///< tcgen05.st.
  tensor_wait,        ///< tcgen05.wait.
  barrier,            ///< bar.sync, bar.red, bar.arrive: `barrier` says which.
  warp_sync,          ///< bar.warp.sync.
  fence,              ///< membar, fence.
  branch,             ///< bra and the loops, calls and returns that became branches.
  leave,              ///< exit, ret of the kernel.
  special_register,   ///< Reading %tid, %ctaid, %clock ...
  sleep,              ///< nanosleep.
  mbarrier,           ///< mbarrier operations that do not wait: `async` says which phase they arrive at.
  mbarrier_wait,      ///< mbarrier.test_wait, try_wait that found its phase over.
  bulk_copy,          ///< cp.async.bulk in all forms, st.async, red.async: by the copy engine.
  bulk_commit,        ///< cp.async.bulk.commit_group.
  bulk_wait,          ///< cp.async.bulk.wait_group N (`pending_groups`).
  cluster_arrive,     ///< barrier.cluster.arrive: `async` says at which phase.
  cluster_wait,       ///< barrier.cluster.wait that found its phase over.
  grid_wait,          ///< griddepcontrol.wait: until the launch ahead has ended.
};
inline constexpr int kOpClasses = 64;  ///< Room for more than there are.

/// Loads, stores and the like of a warp's lanes.
inline bool accesses_memory(OpClass op_class) {
  switch (op_class) {
    case OpClass::load:
    case OpClass::store:
    case OpClass::atomic:
    case OpClass::reduction:
    case OpClass::async_copy:
    case OpClass::matrix_load:
    case OpClass::matrix_store:
      return true;
    default:
      return false;
  }
}

/// One instruction of a kernel; the same object every time it is issued.
struct TracedInstruction {
  OpClass op_class = OpClass::nothing;
  std::uint8_t count = 1;   ///< Machine instructions of that class that ptxas typically makes of it (64-bit add: 2).
  bool once = false;        ///< Its results are the same every time: ptxas keeps them.
  bool strong = false;      ///< A volatile or ordered access, or an atomic one: blocks may meet there.
  bool polls = false;       ///< It reads memory in a loop that only polls.
  std::uint32_t index = 0;  ///< Position in the kernel: unique, ascending in program order.
  std::uint32_t line = 0;   ///< Of the CUDA source; 0 when unknown.
  /// Register numbers, as PTX has them: dense, below `registers` of TracedBlock; one number for each 32 bits,
  /// predicates included.
  std::span<const std::uint16_t> reads;
  std::span<const std::uint16_t> writes;
  MmaForm mma;                       ///< For matrix_product.
  bool first_in_registers = false;   ///< For warpgroup_product: the first operand.
  std::uint32_t pending_groups = 0;  ///< For async_wait: how many groups may still be in flight afterwards.
};

enum class TracedSpace : std::uint8_t {
  none,
  global,
  shared,
  remote_shared,  ///< Of another block of the cluster.
  local,
  constant,
  parameter,
};

/// The traffic of one issued memory instruction.
struct MemoryAccess {
  TracedSpace space = TracedSpace::none;  ///< Where generic addresses led. For async_copy: global.
  std::uint32_t lanes = 0;                ///< Mask of the lanes that access memory.
  std::uint32_t bytes_per_lane = 0;
  /// Passes through the shared-memory banks (32 of 4 bytes); without conflicts ceil(bytes / 128). For
  /// async_copy: of the shared side. 0 when shared memory takes no part.
  std::uint32_t wavefronts = 0;
  /// Distinct 32-byte sectors touched in global or local memory (address / 32), ascending.
  std::span<const std::uint64_t> sectors;
};

struct BarrierArrival {
  std::uint32_t id = 0;
  std::uint32_t expected_warps = 0;  ///< Arrivals that release it.
  bool waits = true;                 ///< False for bar.arrive.
};

/// What an instruction asks of an mbarrier or of the copy engine.
struct AsyncAction {
  enum class Kind : std::uint8_t {
    none,
    parked,  ///< The instruction waits and will be executed again: not an issue yet.
    arrive,
    wait,
    copy,
    product,
  };
  Kind kind = Kind::none;
  /// The phase of the block's mbarrier or the cluster's barrier that is arrived at or waited for, or that the copy
  /// signals. Numbers are unique in a launch; 0: none.
  std::uint64_t phase = 0;
  std::uint32_t bytes = 0;    ///< Of a copy; of a product's operands in shared memory.
  std::uint32_t flops = 0;    ///< Of a product.
  std::uint32_t sectors = 0;  ///< Of 32 bytes, in global memory: what the lanes' copies need.
  bool global = false;        ///< The copy reads or writes global memory.
  bool writes = false;        ///< Out of shared memory.
};

/// A branch back to the begin of a loop that polls memory, as others may have written it meanwhile.
enum class Poll : std::uint8_t {
  none,     ///< The instruction is no such branch.
  round,    ///< The warp goes round again.
  in_vain,  ///< It does, and is where it was a round ago: all its registers are as they were, and it wrote nothing.
};

/// One instruction issued by one warp.
struct Issue {
  std::uint32_t warp = 0;                   ///< Of the block.
  std::uint32_t active = 0;                 ///< Lanes that execute it; never 0.
  std::uint32_t branch_paths = 1;           ///< For branch: 2 when the warp diverges.
  const MemoryAccess* memory = nullptr;     ///< For the memory classes, while the call lasts.
  const BarrierArrival* barrier = nullptr;  ///< For barrier, while the call lasts.
  const AsyncAction* async = nullptr;       ///< For mbarriers and bulk copies, while the call lasts.
  Poll poll = Poll::none;                   ///< For branch. Those of a warp come in turn.
};

/// The block that is about to be traced.
struct TracedBlock {
  std::uint32_t index[3] = {0, 0, 0};
  std::uint64_t number = 0;  ///< In the grid, x first.
  std::uint32_t warps = 0;
  std::uint32_t registers = 0;  ///< One more than the highest register number.
};

/// Receives the events of sampled blocks. Blocks that wait for each other are under way together.
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void begin_block(const TracedBlock& block) = 0;
  /// What follows is of the block of that number, which has begun.
  virtual void go_on_with(std::uint64_t /*number*/) {}
  virtual void issue(const TracedInstruction& instruction, const Issue& issue) = 0;
  virtual void end_block() = 0;
};

constexpr std::uint32_t kNoRelease = std::numeric_limits<std::uint32_t>::max();

/// A strong write that changed global memory: what others may wait for.
struct Release {
  std::uint64_t block = 0;
  std::uint32_t warp = 0;
  std::uint32_t ordinal = 0;          ///< Among the warp's strong instructions that write global memory.
  std::uint32_t before = kNoRelease;  ///< The write of the same word that an atomic went on from.
};

/// A read of global memory in a loop that only polls: the one that ended the wait, or the first.
struct Wait {
  std::uint32_t warp = 0;
  std::uint32_t ordinal = 0;            ///< Among the warp's reads of this kind.
  std::vector<std::uint32_t> releases;  ///< Writes of other blocks that it saw.
};

}  // namespace evo::vgpu

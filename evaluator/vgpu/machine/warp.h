#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evaluator/vgpu/machine/block_demand.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/machine/instruction.h"
#include "evaluator/vgpu/machine/product_watch.h"
#include "evaluator/vgpu/machine/trace.h"

namespace evo::vgpu {

struct Block;
struct Launch;

constexpr int kMaxSplits = 40;  ///< At most one for each lane, and room for those being made.

/// Why a warp's instruction loop stops.
enum class Stop : std::uint8_t {
  none,
  switch_split,  ///< The running lanes wait, have met others or have ended. Other lanes of the warp may run.
  yield,         ///< The warp would only spin. Other warps may run.
  failed,        ///< The launch has a failure.
};

/// Which instruction the lanes of a .sync instruction must reach.
enum class Meet : std::uint8_t {
  here,      ///< The same one: it is .aligned.
  anywhere,  ///< Any of its kind, with the same qualifiers. Compilers copy such instructions into both arms of a
             ///< branch.
};

/// Lanes and the instruction that they execute.
struct Executing {
  const Instruction* in = nullptr;
  std::uint32_t lanes = 0;
};

/// Lanes that run together. A warp starts as one split. A branch that divides it makes more, and they meet again at the
/// branch's immediate post-dominator.
struct Split {
  enum class State : std::uint8_t {
    free,
    ready,
    waits_for_lanes,
    waits_at_barrier,
    waits_at_mbarrier,
    waits_for_cluster,
    waits_for_registers,
    waits_for_columns,
  };
  State state = State::free;
  std::uint32_t active = 0;
  std::int32_t join = -1;  ///< The Join where these lanes are awaited; -1: none.
  const Instruction* next = nullptr;
  const Instruction* waits_in = nullptr;
  std::uint32_t waiting = 0;   ///< The lanes that execute `waits_in`.
  std::uint32_t required = 0;  ///< waits_for_lanes: the lanes that must come,
  Meet meet = Meet::here;      ///< and to which instruction.
  std::uint32_t barrier = 0;   ///< Number, or address in shared memory.
  bool expired = false;        ///< A wait at an mbarrier has reached its time limit.
};

/// A reconvergence point that lanes of a divided split have yet to reach.
struct Join {
  bool used = false;
  std::uint32_t pending = 0;
  std::uint32_t arrived = 0;
  std::int32_t parent = -1;
  const Instruction* at = nullptr;  ///< Null: the paths meet only at their end.
  bool of_call = false;             ///< The lanes come back from a call.

  /// Where the lanes go on. Another activation of the called function may await lanes at `at` itself: they go on
  /// behind.
  const Instruction* onwards() const { return of_call ? at + 1 : at; }
};

/// Lanes that call the same function.
struct Callees {
  std::uint32_t lanes = 0;
  const Instruction* entry = nullptr;
};

/// cp.async copies of one instruction that have not landed in shared memory.
struct PendingCopy {
  std::uint32_t lanes = 0;
  std::uint32_t group = 0;                 ///< Number of the commit group, the same for all lanes.
  std::uint32_t bytes = 0;                 ///< Of each lane: 4, 8 or 16.
  std::array<std::uint32_t, 32> target{};  ///< Offset in shared memory.
  std::array<std::array<std::byte, 16>, 32> data{};
  // For the observer:
  const Instruction* issued_in = nullptr;
  std::uint32_t signalled = 0;                   ///< Lanes that have an mbarrier signalled at the end, and
  std::array<std::uint32_t, 32> signalled_at{};  ///< their time when they asked for it.
  std::array<std::uint16_t, 32> unwritten{};     ///< Bytes of each lane that nobody has written.
};

/// A bulk copy, reduction or store under way. Its addresses were checked when it was issued.
struct BulkOperation {
  std::function<void()> perform;
  std::function<void()> settle;  ///< For the observer: the writes of a group's operation are complete.
  bool performed = false;        ///< A thread has waited until its source was read.
  const Instruction* issued_in = nullptr;
  Warp* issued_by = nullptr;
  int lane = 0;
  std::uint32_t group = 0;      ///< Number of the lane's bulk group, unless an mbarrier is signalled.
  Block* barrier_of = nullptr;  ///< The block whose mbarrier is signalled at the end; null: none.
  std::uint32_t barrier = 0;
  std::uint32_t bytes = 0;     ///< Taken off the mbarrier's transaction count.
  std::uint32_t arrivals = 0;  ///< Pending arrivals that the end completes.
};

/// A warp at the end of a loop that polls memory.
struct Polls {
  const Instruction* at = nullptr;  ///< The branch that it took last; null: none, or it has gone elsewhere.
  std::uint32_t active = 0;
  bool in_vain = false;                         ///< It took the branch as it had a round before.
  std::uint64_t began = 0;                      ///< Warp::executed at the begin of the round before,
  std::uint64_t executed = 0;                   ///< and at its end.
  std::uint64_t idle = 0;                       ///< Instructions of rounds in vain, all together,
  std::uint64_t still = 0;                      ///< and of those after which all was as a round before.
  std::vector<std::uint32_t> rows, predicates;  ///< All of the warp's, then.
  WarpDemand demand;                            ///< What it had asked for at the latest branch.
  // For the WaitLog, where the kernel awaits blocks:
  std::uint32_t releases = 0;         ///< Strong instructions that write global memory.
  std::vector<Wait> waits;            ///< The warp's reads in loops that poll, but for those of rounds in vain,
  std::size_t settled = 0;            ///< and how many at the latest branch. All bits set: one came since.
  const Instruction* read = nullptr;  ///< The latest read, where,
  std::uint64_t address = 0;
  bool own = false;  ///< and whether its value is the warp's own block's, or may be.
};

struct Warp {
  std::uint32_t* bases[2] = {nullptr, nullptr};  ///< Own rows; the kernel's constants.
  std::uint32_t* predicates = nullptr;           ///< One mask of 32 lanes each; number 0 is all ones.
  const Instruction* next = nullptr;
  std::uint32_t active = 0;
  Stop stop = Stop::none;
  Block* block = nullptr;
  Launch* launch = nullptr;
  std::uint32_t index = 0;  ///< In the block.
  std::array<std::uint32_t, 3> block_index{0, 0, 0};
  /// The number of a lane's thread in the block.
  std::uint32_t thread(int lane) const { return index * 32 + static_cast<std::uint32_t>(lane); }
  std::uint32_t existing = 0;  ///< Lanes that are threads of the block.
  std::uint32_t exited = 0;
  std::uint64_t executed = 0;  ///< Instructions, for the budget and %clock.
  std::int32_t current = -1;   ///< Running split.
  std::byte* local = nullptr;  ///< Local memory: thread after thread.
  std::array<Split, kMaxSplits> splits{};
  std::vector<Join> joins;                           ///< At most one for each lane, and one for each active call.
  std::array<std::vector<std::uint32_t>, 32> calls;  ///< Of each lane: what its callers need when they go on.
  std::array<std::uint32_t, 32> committed_groups{};  ///< cp.async groups that each lane has committed.
  std::vector<Executing> met_elsewhere;  ///< Of the last gather(): lanes that wait in other instructions of the kind.
  std::vector<PendingCopy> copies;
  std::array<std::uint32_t, 32> committed_bulk_groups{};
  std::vector<BulkOperation> bulk_operations;          ///< Of bulk groups that have not been waited for.
  std::uint32_t outside_waits = 0;                     ///< Splits that wait for something outside the warp.
  std::uint32_t at_cluster_barrier = 0;                ///< Lanes that have arrived and not waited.
  std::array<std::uint32_t, 32> cluster_generation{};  ///< Of those lanes' arrivals.
  std::uint32_t registers = 0;                         ///< Of each thread, by setmaxnreg; 0: unknown.
  ProductWatch products;
  Polls polls;
  WarpDemand demand;  ///< While it is counted.
  /// The instructions on the longest way to where it is.
  std::uint64_t path() const { return executed - polls.idle + demand.waited; }

  const std::uint32_t* row(Place place) const { return bases[place >> 31] + (place & ~kConstantBit); }
  std::uint32_t* own(Place place) const { return bases[0] + place; }

  std::uint32_t live() const { return existing & ~exited; }
  bool finished() const { return live() == 0; }

  /// Makes the warp one split of all its lanes at the kernel's first instruction.
  void start(const Instruction* first);

  /// Sends the lanes of `taken` to `target` while the others go on; they meet at `reconverge` (may be null).
  void diverge(std::uint32_t taken, const Instruction* target, const Instruction* reconverge);
  /// The running split is at a reconvergence point: it waits there when other lanes are still to come.
  void reconverge(const Instruction* here);
  /// Ends lanes and their bulk groups. execute_exit() does the same for their block and cluster.
  void exit_lanes(std::uint32_t lanes);
  /// Divides the running split among the functions that its lanes call; all meet again at `back`.
  void call(std::span<const Callees> groups, const Instruction* back);

  /// For instructions that lanes execute together (.sync). True when all lanes of `required` that still live have come:
  /// `mask` then holds all that execute it, and `met_elsewhere` those that do so in another instruction. Otherwise the
  /// split waits. It executes the instruction again later, or the split that completes the set does it for all.
  bool gather(const Instruction& instruction, std::uint32_t& mask, std::uint32_t required, Meet meet = Meet::here);
  /// Parks the running split until its barrier releases it.
  void wait_at_barrier(const Instruction& instruction, std::uint32_t mask, std::uint32_t barrier);
  /// Parks the running split until something outside the warp happens. Then it executes the instruction once more.
  void wait_outside(const Instruction& instruction, std::uint32_t mask, Split::State state, std::uint32_t barrier);
  /// Makes splits ready that wait outside for `barrier`, or for several at once.
  void wake(Split::State state, std::uint32_t barrier);
  /// Ends all waits at mbarriers, whose time limit is over. False when there are none.
  bool expire_waits();
  /// True once when the running split's wait had reached its time limit.
  bool take_expired();

  /// Whether a split waits to execute an instruction together with all that live of `required`.
  bool meets(const Split& split, const Instruction& instruction, std::uint32_t required, Meet meet) const;
  /// The warp goes round a loop again that polls memory and writes nothing. Nothing changes before others have run if
  /// it is where it was a round ago: then its turn ends.
  /// `waits`: no round leaves anything to the next but what it has read. Then all but the last one are in vain.
  void polled(const Instruction& branch, bool waits);
  /// Lets another split run that can. False when there is none.
  bool give_way();
  /// Counts as many more rounds in vain as end at `until` instructions, if the last one began at `from` or later.
  void skip_polls(std::uint64_t from, std::uint64_t until);
  /// Chooses another split to run. False when none can.
  bool resume();
  /// After a long run: lets lanes that wait at reconvergence points go ahead, and chooses the next split in turn.
  void take_turns();
  /// Lets lanes go ahead that only wait to reconverge. False when there are none.
  bool release_joins();

  void fail(const Instruction& instruction, const std::string& what, int lane = -1,
            FindingKind kind = FindingKind::fault);

  /// Ends the bulk groups of lanes except the latest `stay`, which may stay under way. With `reads_only` their writes
  /// are done, but must not be relied on yet.
  void land_bulk_groups(std::uint32_t lanes, std::uint32_t stay, bool reads_only);

 private:
  std::int32_t new_split(std::uint32_t active, const Instruction* next, std::int32_t join);
  std::int32_t new_join(std::uint32_t pending, const Instruction* at, std::int32_t parent);
  void load(std::int32_t split);
  void save();
  void arrive(std::int32_t join, std::uint32_t lanes);
  void abandon_bulk_groups(std::uint32_t lanes);
  void perform_once(BulkOperation& operation);
};

/// "kernel k, line 12, block (0, 0, 0), thread (3, 0, 0): ld.global.f32": the start of every report. Lane -1: the warp.
std::string describe_thread(const Warp& warp, const Instruction& instruction, int lane);

}  // namespace evo::vgpu

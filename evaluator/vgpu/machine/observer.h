#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "evaluator/vgpu/machine/access_mode.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/machine/instruction.h"
#include "evaluator/vgpu/numbers/shared_matrix.h"

/// What a launch reports to an observer: allocations, accesses, and everything that orders accesses. Without an
/// observer the machine makes none of these calls.
namespace evo::vgpu {

struct Block;
struct BulkOperation;
struct Cluster;
struct Executing;
struct PendingCopy;
struct SharedPlace;

/// An observer's own data of one block. The block keeps it.
struct ObservedBlock {
  virtual ~ObservedBlock() = default;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // ---- Global memory. It is not written when it is allocated.
  virtual void allocated(std::uint64_t address, std::size_t bytes) = 0;
  virtual void freed(std::uint64_t address) = 0;

  // ---- Blocks
  /// The data of a block that has been made. It runs several blocks of the grid, one after another.
  virtual std::unique_ptr<ObservedBlock> observe(const Block& block) = 0;
  /// The block begins as another one of the grid.
  virtual void begin_block(Block& block) = 0;
  /// Before each instruction, also where no lane executes it.
  virtual void before_instruction(Warp& warp, const Instruction& in, std::uint32_t mask) = 0;
  /// Lanes have ended.
  virtual void exit(Warp& warp, std::uint32_t lanes) = 0;
  /// No warp of the block can advance.
  virtual void stuck(Block& block) = 0;

  // ---- Accesses, each before or after it has been performed; `touched.address` is filled.
  /// `collective`: of the warp as a whole, which must be together.
  virtual void load(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                    const Touched& touched, bool collective) = 0;
  /// `changed`: lanes that wrote other bytes than were there.
  virtual void store(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                     const Touched& touched, std::uint32_t changed) = 0;
  virtual void atomic(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                      const Touched& touched) = 0;
  /// Bytes of a lane's local memory get values (`written`) or lose them: a frame or a parameter of a call.
  virtual void local_defined(Warp& warp, int lane, std::size_t offset, std::size_t bytes, bool written) = 0;
  virtual void local_copied(Warp& warp, int lane, std::size_t to, std::size_t from, std::size_t bytes) = 0;

  // ---- Order within a warp
  virtual void fence(Warp& warp, const Instruction& in, std::uint32_t lanes) = 0;
  /// Lanes have met in bar.warp.sync.
  virtual void warp_barrier(Warp& warp, std::uint32_t lanes) = 0;
  /// Lanes have met in a shuffle or vote.
  virtual void meet(Warp& warp, std::uint32_t lanes) = 0;
  /// The lanes of `executing` take values of each other, before they are written: each that of lane `from[lane]`, which
  /// need not be among them.
  virtual void shuffled(Warp& warp, std::span<const Executing> executing, std::span<const std::int32_t, 32> from) = 0;
  /// Lanes go on from where they were to meet `awaited`.
  virtual void go_ahead(const Warp& warp, std::uint32_t lanes, std::uint32_t awaited, const Instruction* onwards) = 0;

  // ---- Barriers of a block and of a cluster
  virtual void arrive(Warp& warp, std::uint32_t barrier, std::uint32_t lanes) = 0;
  /// Before arrive(), at a barrier that all living lanes of a warp must come to in the same instruction.
  virtual void arrive_aligned(Warp& warp, const Instruction& in, std::uint32_t barrier, std::uint32_t lanes) = 0;
  /// All have come. `whole`: it is a barrier of all threads. barrier_passed() follows for all lanes that waited.
  virtual void barrier_complete(Block& block, std::uint32_t barrier, bool whole) = 0;
  virtual void barrier_passed(Warp& warp, std::uint32_t lanes) = 0;
  virtual void arrive_at_cluster(Warp& warp, std::uint32_t lanes) = 0;
  virtual void cluster_complete(Cluster& cluster) = 0;
  virtual void cluster_passed(Warp& warp, std::uint32_t lanes) = 0;

  // ---- Launches ahead
  /// griddepcontrol.wait: the launches ahead are over.
  virtual void wait_for_launches_ahead(Warp& warp, std::uint32_t lanes) = 0;
  /// griddepcontrol.launch_dependents: the launch behind may begin.
  virtual void let_dependents_go(Warp& warp, std::uint32_t lanes) = 0;

  // ---- mbarriers
  virtual void mbarrier_init(Warp& warp, const Instruction& in, int lane, const SharedPlace& place) = 0;
  /// Every other use. `arrives`: a thread that sees the phase over is ordered after the lane's accesses.
  virtual void mbarrier_use(Warp& warp, const Instruction& in, int lane, const SharedPlace& place, bool arrives) = 0;
  virtual void end_phase(Block& block, std::uint32_t barrier) = 0;
  /// Lanes have seen the phases of their mbarriers over.
  virtual void mbarrier_waited(Warp& warp, const Instruction& in, std::uint32_t lanes,
                               const std::array<SharedPlace, 32>& places) = 0;

  // ---- cp.async, from its issue to its end
  /// `bytes`: how many each lane reads.
  virtual void begin_copy_read(Warp& warp, const Instruction& in, std::uint32_t lanes, AccessMode mode,
                               const std::uint32_t* bytes, const Touched& from, PendingCopy& copy) = 0;
  virtual void begin_copy_write(Warp& warp, const Instruction& in, std::uint32_t lanes, const PendingCopy& copy) = 0;
  virtual void end_copy(Warp& warp, const PendingCopy& copy, int lane) = 0;
  /// An mbarrier will be signalled at the end of the lane's copies under way.
  virtual void copies_signal(Warp& warp, int lane) = 0;

  // ---- Copies by the copy engine
  /// What ends between begin_landing() and end_landing() signals that mbarrier.
  virtual void begin_landing(Block& block, std::uint32_t barrier) = 0;
  virtual void end_landing() = 0;
  virtual void begin_bulk_write(Warp& warp, const Instruction& in, int lane, Block& target, std::uint32_t offset,
                                std::uint32_t bytes) = 0;
  virtual void end_bulk_write(Warp& warp, const Instruction& in, Block& target, std::uint32_t offset,
                              std::uint32_t bytes) = 0;
  virtual void begin_bulk_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                               std::uint32_t bytes) = 0;
  virtual void end_bulk_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                             std::uint32_t bytes) = 0;
  /// A copy that signals an mbarrier has been issued and reads global memory.
  virtual void bulk_source(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                           std::uint32_t bytes) = 0;
  /// A copy has come. pass_state() follows for the bytes that come from global memory.
  virtual void bulk_loaded(const SharedPlace& to, std::uint32_t bytes) = 0;
  /// Bytes without a value at their source have none at their target.
  virtual void pass_state(const Warp& warp, std::uint64_t from, const SharedPlace& to, std::uint32_t bytes) = 0;
  /// A store or reduction writes global memory. It may be under way until bulk_settled().
  virtual void bulk_stored(Warp& warp, const Instruction& in, int lane, const SharedPlace& from, std::uint64_t to,
                           std::uint32_t bytes, bool reduces) = 0;
  virtual void bulk_settled(Warp& warp, const Instruction& in, int lane, std::uint64_t to, std::uint32_t bytes) = 0;
  /// The cluster has ended, and no thread has waited for this copy, which would have signalled an mbarrier.
  virtual void left_under_way(const BulkOperation& operation) = 0;

  // ---- Operands of wgmma in shared memory, from the issue to the wait
  virtual void begin_product_read(Warp& warp, const Instruction& in, const SharedPart& part, char operand) = 0;
  virtual void end_product_read(Warp& warp, const Instruction& in, const SharedPart& part) = 0;
  virtual void products_waited(Warp& warp) = 0;

  // ---- Operands of tcgen05 in a block's shared memory, from the issue to the end of what a commit tracks
  virtual void begin_tensor_read(Warp& warp, const Instruction& in, int lane, Block& block, const SharedPart& part,
                                 char operand) = 0;
  /// The time of a commit that is being issued: of the warp's tensor core.
  virtual std::uint32_t tensor_time(const Warp& warp) = 0;
  virtual void end_tensor_read(Warp& warp, const Instruction& in, Block& block, const SharedPart& part,
                               std::uint32_t time) = 0;
  /// The commit of that time arrives at a block's mbarrier.
  virtual void tensor_reads_ended(Warp& warp, Block& block, std::uint32_t barrier, std::uint32_t time) = 0;
  /// The machine has found something itself that does not end the launch.
  virtual void found(Warp& warp, const Instruction& in, FindingKind kind, const std::string& what) = 0;
};

}  // namespace evo::vgpu

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/sanitiser/access_history.h"
#include "evaluator/vgpu/sanitiser/address_origins.h"
#include "evaluator/vgpu/sanitiser/bit_moves.h"
#include "evaluator/vgpu/sanitiser/byte_flags.h"
#include "evaluator/vgpu/sanitiser/read_only_reads.h"
#include "evaluator/vgpu/sanitiser/value_uses.h"

/// Finds races, and reads of unwritten memory. docs/sanitiser.md says what counts as a race.
namespace evo::vgpu {

/// The joined vector clocks of the threads that arrive at a barrier. Threads that pass it take them.
class JoinedClocks {
 public:
  void add(const ThreadClocks& clocks);
  void raise(std::uint32_t block, std::uint32_t thread, std::uint32_t time) { known_.raise(block, thread, time); }
  ThreadClocks take();
  bool empty() const { return known_.empty(); }

 private:
  VectorClock known_, released_, released_to_block_, proxied_;
};

/// A load of unwritten bytes.
struct UnwrittenLoad {
  const Instruction* in = nullptr;
  int lane = 0;
  std::string what;
  std::uint32_t no_padding = 0;  ///< Lanes in which it cannot be the padding of a struct.
  std::uint64_t order = 0;       ///< Among all such loads.
  /// Each lane has loaded so many bytes at its address; 0: others than its own, too.
  std::uint32_t bytes = 0;
  AccessMode mode{};
  std::array<std::uint64_t, 32> address{};
};
/// A register with bits of such a load.
struct UnwrittenValue {
  std::uint16_t number = 0;  ///< Of a register or predicate, as TracedInstruction numbers them.
  RegisterBits bits{};
  Way way;
  std::shared_ptr<const UnwrittenLoad> load;

  std::uint32_t lanes() const { return lanes_of(bits); }
};

/// A warp while it is watched. Its lanes are in groups that have the same clocks.
struct WarpWatch {
  struct Group {
    std::uint32_t lanes = 0;
    ThreadClocks clocks;
  };
  std::uint32_t now = 1;
  bool has_read = false;  ///< Since `now`.
  std::vector<Meeting> meetings;
  std::uint32_t products = 1;  ///< The time of its tensor core, whose reads all lanes wait for together.
  std::vector<Group> groups;
  std::vector<UnwrittenValue> unwritten;  ///< Mostly none.
  AddressOrigins::Rows origins;           ///< Likewise.

  void start() {
    now = products = 1;
    has_read = false;
    meetings.clear();
    unwritten.clear();
    origins.clear();
    groups.assign(1, {kAllLanes, {}});
  }
  const ThreadClocks& of(int lane) const;
  void assign(std::uint32_t lanes, const ThreadClocks& clocks);
  void meet(std::uint32_t lanes);
  std::uint32_t unwritten_lanes(std::span<const std::uint16_t> registers) const;
  /// What of a register came from `load` in this way.
  RegisterBits unwritten_bits(std::uint16_t number, const UnwrittenLoad& load, Way way) const;
  RegisterBits unwritten_bits(std::uint16_t number) const;
  void forget_unwritten(std::span<const std::uint16_t> registers, std::uint32_t lanes);
};

/// A block while it is watched.
struct BlockWatch : ObservedBlock {
  explicit BlockWatch(const Block& block);
  void start(const Block& block);

  /// Lanes of a warp have waited for an mbarrier.
  struct Wait {
    Warp* warp = nullptr;
    const Instruction* in = nullptr;
    std::uint32_t lanes = 0;
    std::uint32_t time = 0;  ///< Of the warp.
  };
  struct MbarrierWatch {
    std::uint32_t slot = 0;   ///< Stands for its copies in clocks.
    std::uint32_t phase = 1;  ///< Number of the current one.
    JoinedClocks arriving;
    ThreadClocks completed;   ///< The clocks of those who see the phase before over.
    std::vector<Wait> waits;  ///< For the phase before this one: of each warp the last at each instruction.

    void waited(const Wait& wait);
  };

  // Clocks have the block's threads, whole warps of them, then the tensor core of each warp, then the
  // mbarriers.
  std::uint32_t product_thread(std::uint32_t warp) const {
    return static_cast<std::uint32_t>(warps.size()) * 32 + warp;
  }
  std::uint32_t barrier_thread(std::size_t barrier) const {
    return static_cast<std::uint32_t>(warps.size() * 33 + barrier);
  }

  std::uint32_t number = 0;  ///< Of the block in the grid.
  ByteFlags shared_written;
  AccessHistory shared;
  ByteFlags local_written;  ///< Thread after thread.
  std::vector<WarpWatch> warps;
  std::array<JoinedClocks, 16> barriers;
  /// Lanes that have come to an aligned barrier without all others of their warp. Those may still follow: the barrier
  /// is not over.
  struct PartialArrival {
    std::uint32_t barrier = 0;
    Warp* warp = nullptr;
    const Instruction* in = nullptr;
    std::uint32_t lanes = 0;

    std::uint32_t missing() const { return warp->live() & ~lanes; }
  };
  std::vector<PartialArrival> partial_arrivals;
  ThreadClocks of_barrier;  ///< The clocks of those who pass the last completed barrier.
  JoinedClocks exited;      ///< The clocks of threads that have ended.
  std::map<std::uint32_t, MbarrierWatch> mbarriers;
  JoinedClocks arriving_at_cluster;  ///< Used in the cluster's first block only.
  ThreadClocks of_cluster;           ///< The clocks of those who have passed the cluster's barrier.
};

/// The watch of a block of a sanitised launch.
inline BlockWatch& block_watch(const Block& block) {
  return static_cast<BlockWatch&>(*block.observed);
}

class Sanitiser : public Observer {
 public:
  // ---- Global memory, as the host writes it. Memory without an allocated() call counts as written.
  void written(std::uint64_t address, std::size_t bytes, const GlobalMemory& memory) {
    mark(address, bytes, memory, true);
  }
  /// The bytes lose their values.
  void poisoned(std::uint64_t address, std::size_t bytes, const GlobalMemory& memory) {
    mark(address, bytes, memory, false);
  }

  /// Launches of one plan follow, on these buffers. `ordered`: something that launches wait for lies ahead of the first
  /// one.
  void begin_plan(std::span<const std::uint64_t> buffers, bool ordered, const GlobalMemory& memory);
  void begin_launch(const Launch& launch);
  /// The launch has ended; its failure, if any, becomes a finding.
  void end_launch(const Launch& launch);
  /// All, the weaker ones too.
  const std::vector<Finding>& findings() const { return findings_; }

  // ---- Observer
  void allocated(std::uint64_t address, std::size_t bytes) override;
  void freed(std::uint64_t address) override;
  std::unique_ptr<ObservedBlock> observe(const Block& block) override;
  void begin_block(Block& block) override;
  void before_instruction(Warp& warp, const Instruction& in, std::uint32_t mask) override;
  void exit(Warp& warp, std::uint32_t lanes) override;
  void stuck(Block& block) override;
  void load(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
            const Touched& touched, bool collective) override;
  void store(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
             const Touched& touched, std::uint32_t changed) override;
  void atomic(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
              const Touched& touched) override;
  void local_defined(Warp& warp, int lane, std::size_t offset, std::size_t bytes, bool written) override;
  void local_copied(Warp& warp, int lane, std::size_t to, std::size_t from, std::size_t bytes) override;
  void fence(Warp& warp, const Instruction& in, std::uint32_t lanes) override;
  void warp_barrier(Warp& warp, std::uint32_t lanes) override;
  void meet(Warp& warp, std::uint32_t lanes) override;
  void shuffled(Warp& warp, std::span<const Executing> executing, std::span<const std::int32_t, 32> from) override;
  void go_ahead(const Warp& warp, std::uint32_t lanes, std::uint32_t awaited, const Instruction* onwards) override;
  void arrive(Warp& warp, std::uint32_t barrier, std::uint32_t lanes) override;
  void arrive_aligned(Warp& warp, const Instruction& in, std::uint32_t barrier, std::uint32_t lanes) override;
  void barrier_complete(Block& block, std::uint32_t barrier, bool whole) override;
  void barrier_passed(Warp& warp, std::uint32_t lanes) override;
  void arrive_at_cluster(Warp& warp, std::uint32_t lanes) override;
  void cluster_complete(Cluster& cluster) override;
  void cluster_passed(Warp& warp, std::uint32_t lanes) override;
  void wait_for_launches_ahead(Warp& warp, std::uint32_t lanes) override;
  void let_dependents_go(Warp& warp, std::uint32_t lanes) override;
  void mbarrier_init(Warp& warp, const Instruction& in, int lane, const SharedPlace& place) override;
  void mbarrier_use(Warp& warp, const Instruction& in, int lane, const SharedPlace& place, bool arrives) override;
  void end_phase(Block& block, std::uint32_t barrier) override;
  void mbarrier_waited(Warp& warp, const Instruction& in, std::uint32_t lanes,
                       const std::array<SharedPlace, 32>& places) override;
  void begin_copy_read(Warp& warp, const Instruction& in, std::uint32_t lanes, AccessMode mode,
                       const std::uint32_t* bytes, const Touched& from, PendingCopy& copy) override;
  void begin_copy_write(Warp& warp, const Instruction& in, std::uint32_t lanes, const PendingCopy& copy) override;
  void end_copy(Warp& warp, const PendingCopy& copy, int lane) override;
  void copies_signal(Warp& warp, int lane) override;
  void begin_landing(Block& block, std::uint32_t barrier) override;
  void end_landing() override { landing_ = nullptr; }
  void begin_bulk_write(Warp& warp, const Instruction& in, int lane, Block& target, std::uint32_t offset,
                        std::uint32_t bytes) override;
  void end_bulk_write(Warp& warp, const Instruction& in, Block& target, std::uint32_t offset,
                      std::uint32_t bytes) override;
  void begin_bulk_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                       std::uint32_t bytes) override;
  void end_bulk_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                     std::uint32_t bytes) override;
  void bulk_source(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                   std::uint32_t bytes) override;
  void bulk_loaded(const SharedPlace& to, std::uint32_t bytes) override;
  void pass_state(const Warp& warp, std::uint64_t from, const SharedPlace& to, std::uint32_t bytes) override;
  void bulk_stored(Warp& warp, const Instruction& in, int lane, const SharedPlace& from, std::uint64_t to,
                   std::uint32_t bytes, bool reduces) override;
  void bulk_settled(Warp& warp, const Instruction& in, int lane, std::uint64_t to, std::uint32_t bytes) override;
  void left_under_way(const BulkOperation& operation) override;
  void begin_product_read(Warp& warp, const Instruction& in, const SharedPart& part, char operand) override;
  void end_product_read(Warp& warp, const Instruction& in, const SharedPart& part) override;
  void products_waited(Warp& warp) override;
  void begin_tensor_read(Warp& warp, const Instruction& in, int lane, Block& block, const SharedPart& part,
                         char operand) override;
  std::uint32_t tensor_time(const Warp& warp) override;
  void end_tensor_read(Warp& warp, const Instruction& in, Block& block, const SharedPart& part,
                       std::uint32_t time) override;
  void tensor_reads_ended(Warp& warp, Block& block, std::uint32_t barrier, std::uint32_t time) override;
  void found(Warp& warp, const Instruction& in, FindingKind kind, const std::string& what) override {
    report(kind, warp, in, -1, what);
  }

 private:
  struct BufferWatch {
    std::size_t bytes = 0;
    ByteFlags written;
    std::unique_ptr<AccessHistory> history;    ///< Of the current launch.
    std::unique_ptr<AccessHistory> ahead;      ///< Of the launch ahead, where that may not be over.
    std::unique_ptr<ReadOnlyReads> read_only;  ///< Of the current launch; null: there are none.
    bool of_plan = false;                      ///< Other calls and other kernels use it, too.
  };
  /// Earlier launches that may still run during this one, until a griddepcontrol.wait.
  enum class Ahead : std::uint8_t {
    nothing,
    one_launch,  ///< The one before it in the plan. Those before that are over.
    everything,  ///< The writers of the inputs, the readers of the outputs, and the call before.
  };
  /// Where the flags and the history of some bytes are.
  struct Spot {
    ByteFlags* written = nullptr;
    AccessHistory* history = nullptr;  ///< Null: only one thread can access it.
    std::size_t at = 0;
    std::uint64_t key = 0;          ///< Of synchronisation through these bytes.
    BufferWatch* buffer = nullptr;  ///< In global memory.

    bool in_shared() const { return history != nullptr && buffer == nullptr; }
  };
  struct Released {
    VectorClockPtr to_all;
    VectorClockPtr to_block;
    std::uint32_t block = 0;
  };

  /// Of each lane's access: the bits of its bytes that nobody has written.
  using MissingBits = std::array<std::array<std::uint8_t, 16>, 32>;
  static void note_missing(MissingBits& missing, const Spot& spot, int lane, std::uint32_t bytes);
  /// A load of unwritten bytes: a finding once something depends on them.
  void loaded_unwritten(Warp& warp, const Instruction& in, std::uint32_t bytes, const MissingBits& missing,
                        UnwrittenLoad load);
  /// Likewise, by ldmatrix: a lane's address gives a row, whose elements go to other lanes.
  void loaded_matrices(Warp& warp, const Instruction& in, const MissingBits& missing, UnwrittenLoad load);
  void report_unwritten(Warp& warp, const UnwrittenLoad& load);
  /// A phase has ended: the waits for the one before it that nothing orders before this end.
  void report_late_waits(std::uint32_t barrier, const BlockWatch::MbarrierWatch& watch);
  /// A store of unwritten bits: its target stays unwritten too, or they leave.
  void stored_unwritten(Warp& warp, const Instruction& in, int lane, std::uint32_t bytes, const Spot& spot);
  /// Whether these bits of the value lie where they were loaded, beside written ones: those around a bit field do.
  bool lies_beside_written(const Warp& warp, const UnwrittenValue& value, std::uint64_t bits, int lane);
  void hand_on(Warp& warp, const Instruction& in, std::uint32_t mask);
  void report(FindingKind kind, const Warp& warp, const Instruction& in, int lane, const std::string& what,
              std::uint32_t other_code = kNowhere, const std::string& brief = {});
  /// Likewise, of an instruction that need not be the one that runs.
  void report_at(FindingKind kind, const Kernel& kernel, std::uint32_t code, const std::string& text,
                 std::uint32_t other_code, const std::string& brief);
  BufferWatch& watch_of(const Allocation& allocation);
  void mark(std::uint64_t address, std::size_t bytes, const GlobalMemory& memory, bool value);
  Spot locate(const Warp& warp, AccessMode mode, int lane, std::uint64_t address);
  Accessor accessor(const Warp& warp, const Instruction& in, int lane, const MemoryOrder& order) const;
  Accessor proxy_accessor(const Warp& warp, const Instruction& in, int lane) const;
  void begin_operand_read(Warp& warp, const Instruction& in, int lane, Block& block, const SharedPart& part,
                          char operand);
  using RecordRead = std::optional<Conflict> (AccessHistory::*)(std::size_t, std::size_t, const Accessor&);
  /// A read by the copy engine for a lane, recorded in the history by `record`.
  void proxy_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from, std::uint32_t bytes,
                  RecordRead record);
  /// The finding's index; nothing when there are too many.
  std::optional<std::size_t> add(const Finding& finding, const std::string& place, std::uint32_t other_line);
  /// Whether these instructions have been reported in this launch: then they are counted, and no text is needed.
  bool reported(FindingKind kind, const Warp& warp, const Instruction& in, std::uint32_t other_code);
  /// "writes 4 bytes at byte 4 of 'tile' (shared memory, 256 bytes)"
  static std::string describe_access(std::string_view verb, const Warp& warp, AccessMode mode, std::uint32_t bytes,
                                     std::uint64_t address);
  void report_race(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                   std::uint64_t address, const Conflict& conflict);
  /// A finding where an access may meet one of a launch ahead.
  void look_ahead(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                  std::uint64_t address, const Spot& spot, const VectorClock* known);
  /// A barrier of all threads is complete, without some that have ended.
  void report_left_barrier(Block& block, std::uint32_t barrier);
  template <class Where>
  void end_partial_arrivals(Block& block, Where where);
  /// A finding where an access lies in another variable of shared or local memory than its address comes from.
  void check_origin(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                    std::uint64_t address, const Spot& spot);
  /// A load through the read-only cache: a finding where this launch has written the bytes.
  void read_only_read(const Warp& warp, const Instruction& in, AccessMode mode, std::uint32_t bytes,
                      std::uint64_t address, const Spot& spot);
  /// A write: a finding where this launch has read the bytes through the read-only cache.
  void written_while_read_only(const Warp& warp, const Instruction& in, std::uint32_t bytes, const Spot& spot);
  void report_stale(const Warp& warp, std::uint32_t reader, std::uint32_t writer, const std::string& reading);
  /// The thread goes on after the strong writes that its last access has seen.
  void learn_seen(Warp& warp, int lane);
  /// Whether a strong write hands nothing over: no fence that reaches its readers lies before it.
  bool only_writes_value(const Warp& warp, int lane, const MemoryOrder& order, const Spot& spot) const;
  void join_clocks(Warp& warp, std::uint32_t lanes, JoinedClocks& into);
  void learn(Warp& warp, std::uint32_t lanes, const ThreadClocks& clocks);
  void acquire(Warp& warp, int lane, std::uint64_t key);
  void release(Warp& warp, int lane, std::uint64_t key, const MemoryOrder& order, bool replaces);

  std::map<std::uint64_t, BufferWatch> buffers_;  ///< By address.
  std::uint64_t last_begin_ = 0;
  BufferWatch* last_ = nullptr;
  std::unordered_map<std::uint64_t, Released> released_;
  const BlockWatch::MbarrierWatch* landing_ = nullptr;
  const Block* landing_in_ = nullptr;
  std::optional<ValueUses> uses_;          ///< Of the kernel that runs,
  std::optional<AddressOrigins> origins_;  ///< likewise.
  SeenWrites seen_;                        ///< Of the current launch.
  std::uint64_t unwritten_loads_ = 0;
  Ahead ahead_ = Ahead::nothing;
  bool first_of_plan_ = false;  ///< The launch that comes next.
  bool waits_ = false;          ///< A thread of this launch has waited for those ahead.
  bool lets_go_early_ = false;  ///< One let the launch behind begin without knowing that those ahead are over.
  std::vector<Finding> findings_;
  std::map<std::tuple<FindingKind, std::string, std::string, std::uint32_t, std::uint32_t>, std::size_t> known_;
  /// By kind and instructions, of the current launch.
  std::map<std::tuple<FindingKind, std::uint32_t, std::uint32_t>, std::optional<std::size_t>> reported_;
};

}  // namespace evo::vgpu

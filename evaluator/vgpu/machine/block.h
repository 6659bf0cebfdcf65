#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/mbarrier.h"
#include "evaluator/vgpu/machine/warp.h"
#include "evaluator/vgpu/tcgen05/tensor_memory.h"

namespace evo::vgpu {

struct Cluster;
struct ObservedBlock;

constexpr std::uint32_t kBarriers = 16;

/// What a barrier instruction does; Instruction::aux0.
enum class BarrierKind : std::uint32_t { sync, arrive, popc, logical_and, logical_or };

/// One of a block's named barriers.
struct Barrier {
  std::uint32_t expected = 0;  ///< Threads; 0: every thread of the block that still lives.
  std::uint32_t arrived = 0;   ///< Threads.
  std::uint32_t warps = 0;     ///< Mask of the warps that have arrived, with some or all lanes.
  std::uint32_t voters = 0;    ///< Arrived threads that execute it.
  std::uint32_t votes = 0;     ///< bar.red: voters whose predicate is true.
  bool waited_for = false;
};

/// The products that some, but not all, warps of a warpgroup have issued.
struct WarpgroupLog {
  struct Entry {
    const Instruction* instruction = nullptr;
    std::uint64_t a = 0;  ///< Descriptors.
    std::uint64_t b = 0;
    bool accumulate = true;
    bool operator==(const Entry&) const = default;
  };
  std::deque<Entry> entries;
  std::uint64_t first = 0;  ///< Number of the first entry, counted from the block's start.
};

/// Grows, never shrinks; 64-byte aligned.
class AlignedWords {
 public:
  std::uint32_t* resize(std::size_t words);
  std::uint32_t* data() { return begin_; }

 private:
  std::vector<std::uint32_t> storage_;
  std::uint32_t* begin_ = nullptr;
};

/// A thread block while it runs. Its warps run in turn, each until it has to wait.
struct Block {
  Block(Launch& launch, Cluster& cluster, std::uint32_t rank);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Begins again as the launch's block of that index.
  void start(std::array<std::uint32_t, 3> block_index);
  /// Runs every warp once. False when none could do anything: they wait, or poll memory that nobody has written. The
  /// launch may have failed.
  bool run_warps();
  bool polls = false;      ///< A warp did so in vain when the warps ran last.
  bool polls_own = false;  ///< Likewise, and what it read may be the block's own to write.

  /// A split's lanes arrive at a barrier. `threads` is 0 for a barrier of the whole block; `votes` counts the
  /// true predicates of bar.red.
  void arrive(Warp& warp, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes, std::uint32_t votes,
              bool waits);
  void lanes_exited(std::uint32_t count);
  /// The end of the phase makes its waiters ready. Returns the fault, or nothing.
  std::string change_mbarrier(Mbarrier& barrier, const MbarrierChange& change);
  void wake(Split::State state, std::uint32_t barrier);
  /// Once it has ended.
  BlockWork work() const;

  Launch* launch;
  Cluster* cluster;
  std::uint32_t rank = 0;  ///< In the cluster.
  std::array<std::uint32_t, 3> index{0, 0, 0};
  std::uint32_t threads = 0;
  std::uint32_t live = 0;  ///< Threads that have not exited.
  std::vector<Warp> warps;
  std::vector<std::byte> shared;  ///< From shared address 0: the reserved bytes, static, dynamic.
  std::array<Barrier, kBarriers> barriers{};
  MbarrierTable mbarriers;
  TensorMemory tensor_memory;
  std::uint32_t free_registers = 0;  ///< Of each thread of a warp: given back by setmaxnreg.
  Tracer* tracer = nullptr;          ///< Set while the block is sampled.
  L1Sectors l1;                      ///< While its accesses are counted.
  std::uint64_t number = 0;          ///< In the grid, x first.
  std::vector<WarpgroupLog> warpgroups;
  std::unique_ptr<ObservedBlock> observed;  ///< The observer's own; null: there is none.

 private:
  void fill_specials(Warp& warp);
  bool run_warp(Warp& warp);
  enum class Noted { nothing, counts, trace };
  template <Noted kNoted, bool kWatched>
  void run_split(Warp& warp, std::uint64_t fuel);
  bool advance_others(const Warp& waiting);
  std::string lines_of_loop(Warp& warp);
  void release_if_complete(std::uint32_t id);

  AlignedWords rows_;
  AlignedWords predicates_;
  std::vector<std::byte> local_;
};

/// A place in some block's shared memory.
struct SharedPlace {
  Block* block = nullptr;
  std::uint32_t offset = 0;
};
/// The mbarrier there. Null when there is none, and the warp has failed.
Mbarrier* mbarrier_at(Warp& warp, const Instruction& in, int lane, const SharedPlace& place);

}  // namespace evo::vgpu

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

/// Vector clocks, as in FastTrack (Flanagan, Freund, PLDI 2009). They have one entry for each thread of each block. The
/// threads of a warp share one time. It advances whenever a lane of the warp releases what it has done so far.
namespace evo::vgpu {

/// The times of a block's threads, then of its mbarriers. An mbarrier stands for the copies that signal it.
using Times = std::vector<std::uint32_t>;

/// For each thread the time until which its accesses are over. Blocks without such threads are left out.
class VectorClock {
 public:
  /// 0: no access of this thread is known to be over.
  std::uint32_t time_of(std::uint32_t block, std::uint32_t thread) const {
    const Times* times = times_of(block);
    return times == nullptr || thread >= times->size() ? 0 : (*times)[thread];
  }
  /// Whether anything of a block is known to be over.
  bool has(std::uint32_t block) const { return times_of(block) != nullptr; }
  void raise(std::uint32_t block, std::uint32_t thread, std::uint32_t time);
  void join(const VectorClock& other);
  bool covers(const VectorClock& other) const;
  bool empty() const { return blocks_.empty(); }

 private:
  struct Part {
    std::uint32_t block = 0;
    std::shared_ptr<Times> times;  ///< Shared by clocks that agree; cloned before it is changed.
  };
  const Times* times_of(std::uint32_t block) const {
    for (const Part& part : blocks_)
      if (part.block == block) return part.times.get();
    return nullptr;
  }
  /// Where the block's part is, or belongs.
  std::vector<Part>::iterator place_of(std::uint32_t block);
  Times& own_times(std::uint32_t block);

  std::vector<Part> blocks_;
};
using VectorClockPtr = std::shared_ptr<const VectorClock>;  ///< Null: an empty one.

/// The later of each; one of the two themselves where it covers the other.
VectorClockPtr joined(const VectorClockPtr& a, const VectorClockPtr& b);

/// The vector clocks of a thread.
struct ThreadClocks {
  VectorClockPtr known;              ///< Accesses that happen before all that the thread does next.
  VectorClockPtr released;           ///< The part of `known` that a fence has released to all threads.
  VectorClockPtr released_to_block;  ///< The part of `known` that a fence has released to the own block.
  VectorClockPtr proxied;        ///< The part of `known` that a fence.proxy.async shows to the copy engine and wgmma.
  VectorClockPtr acquired = {};  ///< The part of `known` that strong reads have brought since the last barrier.

  bool operator==(const ThreadClocks&) const = default;
  void join(const ThreadClocks& other);
};

}  // namespace evo::vgpu

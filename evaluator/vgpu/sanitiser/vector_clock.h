#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// Who knows what of whom: vector clocks, as in FastTrack (Flanagan, Freund, PLDI 2009), with one entry for
/// each thread of each block. A thread's time is that of its warp: it goes on whenever a lane of the warp
/// tells others of its progress.
namespace evo::vgpu {

/// Of the threads of a block, then of its mbarriers, which stand for the copies that they are told of.
using Times = std::vector<std::uint32_t>;

/// Until when the accesses of each thread are known to be over. Blocks that have none are left out.
class Clock {
 public:
  /// 0: of this thread nothing is known.
  std::uint32_t time_of(std::uint32_t block, std::uint32_t thread) const {
    const Times* times = times_of(block);
    return times == nullptr || thread >= times->size() ? 0 : (*times)[thread];
  }
  void raise(std::uint32_t block, std::uint32_t thread, std::uint32_t time);
  void join(const Clock& other);
  bool covers(const Clock& other) const;
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
using ClockPtr = std::shared_ptr<const Clock>;  ///< Null: an empty one.

/// The later of each; one of the two themselves where it covers the other.
ClockPtr joined(const ClockPtr& a, const ClockPtr& b);

/// What a thread knows of all others.
struct Knowledge {
  ClockPtr known;              ///< Accesses that come before all that follows.
  ClockPtr released;           ///< Of them, those that a fence lets everybody see who sees a later atomic or volatile
                               ///< write.
  ClockPtr released_to_block;  ///< Likewise, but only threads of the own block.
  ClockPtr proxied;            ///< Of them, those that a fence.proxy.async lets the copy engine and wgmma see.
  ClockPtr acquired = {};  ///< Of them, those that the thread's own strong reads have brought since its last barrier.

  bool operator==(const Knowledge&) const = default;
  void join(const Knowledge& other);
};

}  // namespace evo::vgpu

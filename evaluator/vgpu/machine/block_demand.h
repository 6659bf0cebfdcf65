#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// What blocks execute and ask of memory, counted in all of them while they run: the cost model traces few, and chooses
/// them by this.
namespace evo::vgpu {

/// The instructions of a kernel are divided at random into so many parts. Blocks that run other code, though as much of
/// it, differ in how often they execute each part.
constexpr std::size_t kCodeParts = 16;

/// Of a warp, without rounds of loops that only wait for others.
struct WarpDemand {
  std::array<std::uint32_t, kCodeParts> code{};  ///< Instructions of each part.
  std::uint64_t shared_passes = 0;               ///< Through the banks of shared memory, one a clock.
  std::uint64_t sectors = 0;                     ///< Of 32 bytes, between the SM and L2.
  /// How much longer its path is than its instructions: kTrip for each access that goes to L2, and what the warps that
  /// it has awaited at barriers were behind it.
  std::uint64_t waited = 0;
};
/// A trip to L2 takes a warp about as long as so many instructions, when a part of it overlaps.
constexpr std::uint64_t kTrip = 25;

/// Of a block, without such rounds.
struct BlockWork {
  std::uint64_t instructions = 0;                ///< Of all its warps.
  std::uint64_t shared_passes = 0, sectors = 0;  ///< Likewise.
  std::uint64_t longest_path = 0;                ///< To the end of the last warp, in instructions.
  std::array<std::uint32_t, kCodeParts> code{};
  bool operator==(const BlockWork&) const = default;
};

/// Sectors of global and local memory that a block has loaded: 128 KiB of L1. When these are full, all are forgotten.
class L1Sectors {
 public:
  /// Loads the sectors of an instruction. Returns how many were there.
  std::size_t load(std::span<const std::uint64_t> sectors) {
    if (used_.size() > kMost) clear();
    std::size_t known = 0;
    for (const std::uint64_t sector : sectors) known += insert(sector) ? 0 : 1;
    return known;
  }
  void clear() {
    for (const std::uint32_t slot : used_) slots_[slot] = 0;
    used_.clear();
  }

 private:
  static constexpr std::size_t kMost = 4096;

  bool insert(std::uint64_t sector) {
    if (2 * (used_.size() + 1) > slots_.size()) grow();
    std::size_t slot = (sector * 0x9e3779b97f4a7c15ull >> 32) & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
      if (slots_[slot] == sector + 1) return false;
    slots_[slot] = sector + 1;
    used_.push_back(static_cast<std::uint32_t>(slot));
    return true;
  }
  void grow() {
    const std::size_t slots = std::max<std::size_t>(2 * slots_.size(), 128);
    const std::vector<std::uint64_t> held = std::exchange(slots_, std::vector<std::uint64_t>(slots));
    used_.clear();
    for (const std::uint64_t one : held)
      if (one != 0) insert(one - 1);
  }

  std::vector<std::uint64_t> slots_;  ///< One more than a sector's number; 0: free.
  std::vector<std::uint32_t> used_;
};

/// How the lanes of an instruction lay in shared memory when it was executed last.
struct SharedPattern {
  std::array<std::uint32_t, 32> from_first{};  ///< Bytes from lane 0's; of lane 0, its place in a word.
  std::uint32_t mask = 0;
  std::uint32_t passes = 0;
};

}  // namespace evo::vgpu

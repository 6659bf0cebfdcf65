#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The barriers in shared memory that count arrivals and bytes (PTX ISA 9.0, 9.7.13.15 "mbarrier"). The object is
/// the 64-bit word itself. A separate table lists where objects are: a use of any other word is an error.
namespace evo::vgpu {

/// Counts are limited to 2^20 - 1.
constexpr std::uint32_t kMaxMbarrierCount = (1u << 20) - 1;

/// Split::barrier of lanes that wait at different mbarriers.
constexpr std::uint32_t kSeveralBarriers = 0xffff'ffffu;

/// The changes that instructions and copies make: added to the state in this order, then the phase may end.
struct MbarrierChange {
  std::int64_t bytes = 0;          ///< expect_tx adds, complete_tx takes away.
  std::uint32_t more_pending = 0;  ///< cp.async.mbarrier.arrive without .noinc.
  std::uint32_t drop = 0;          ///< Taken off the arrivals of later phases.
  std::uint32_t arrivals = 0;
  bool may_complete = true;  ///< False for .noComplete, whose arrivals must not end the phase.
};

/// What an mbarrier's word says.
struct MbarrierState {
  std::uint32_t expected = 0;  ///< Arrivals of each phase.
  std::uint32_t pending = 0;   ///< Arrivals still to come in this one.
  std::int32_t bytes = 0;      ///< The transaction count: bytes still to come.
  std::uint32_t parity = 0;    ///< Of the current phase.

  std::uint64_t encoded() const;
  static MbarrierState decoded(std::uint64_t word);
  /// Returns what is wrong, or nothing. `ends`: the phase has ended, and the state is the next one's.
  std::string apply(const MbarrierChange& change, bool& ends);
};

struct Mbarrier {
  std::uint32_t address = 0;       ///< In the block's shared memory.
  std::uint32_t line = 0;          ///< Of the initialisation in the CUDA source; 0: unknown.
  std::uint64_t word = 0;          ///< As the last operation left it.
  std::uint64_t phase = 0;         ///< Number of the current phase, unique in the launch.
  std::uint64_t phase_before = 0;  ///< 0 in the first.
};

/// A block's mbarriers.
class MbarrierTable {
 public:
  Mbarrier* find(std::uint32_t address);
  Mbarrier& put(std::uint32_t address);
  void erase(std::uint32_t address);
  void clear() { barriers_.clear(); }
  /// "for the mbarrier at ...": what the phase lacks that lanes wait for.
  std::string describe_wait(std::uint32_t address) const;

 private:
  std::vector<Mbarrier> barriers_;  ///< By ascending address.
};

}  // namespace evo::vgpu

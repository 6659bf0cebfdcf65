#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The barriers in shared memory that count arrivals and bytes (PTX ISA 9.0, 9.7.13.15 "mbarrier"). The object is
/// the 64-bit word itself; a table beside it knows where objects are, so that what is none is noticed.
namespace evo::vgpu {

struct Block;

/// Counts are limited to 2^20 - 1.
constexpr std::uint32_t kMaxMbarrierCount = (1u << 20) - 1;

/// What an mbarrier's word says.
struct MbarrierState {
  std::uint32_t expected = 0;  ///< Arrivals of each phase.
  std::uint32_t pending = 0;   ///< Arrivals still to come in this one.
  std::int32_t bytes = 0;      ///< The transaction count: bytes still to come.
  std::uint32_t parity = 0;    ///< Of the current phase.

  std::uint64_t encoded() const;
  static MbarrierState decoded(std::uint64_t word);
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

 private:
  std::vector<Mbarrier> barriers_;  ///< By ascending address.
};

/// The changes that instructions and copies make: added to the state in this order, then the phase may end.
struct MbarrierChange {
  std::int64_t bytes = 0;          ///< expect_tx adds, complete_tx takes away.
  std::uint32_t more_pending = 0;  ///< cp.async.mbarrier.arrive without .noinc.
  std::uint32_t drop = 0;          ///< Taken off the arrivals of later phases.
  std::uint32_t arrivals = 0;
  bool may_complete = true;  ///< False for .noComplete, whose arrivals must not end the phase.
};

/// Applies a change; when the phase ends, those who wait for it are made ready. Returns what is wrong, or nothing.
std::string change_mbarrier(Block& block, Mbarrier& barrier, const MbarrierChange& change);

/// "for an mbarrier at ...": what the phase that lanes wait for lacks, for reports.
std::string describe_mbarrier(Block& block, std::uint32_t address);

}  // namespace evo::vgpu

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "evaluator/vgpu/machine/block.h"

/// Thread block clusters (PTX ISA 9.0, 2.2.2 and 5.1.6): blocks that run together and reach each other's shared
/// memory. A block without a cluster is a cluster by itself.
namespace evo::vgpu {

/// Addresses of .shared::cluster carry the block's rank plus one above these bits; zero means the own block.
constexpr std::uint32_t kRankShift = 24;
constexpr std::uint32_t cluster_address(std::uint32_t rank, std::uint32_t offset) {
  return (rank + 1) << kRankShift | offset;
}

struct Cluster {
  enum class State : std::uint8_t {
    finished,
    suspended,  ///< It has run for long. Others should run now.
    stalled,    ///< It has tried for long and could not advance. Only other clusters could help.
    failed,
  };

  explicit Cluster(Launch& launch);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Makes it the launch's cluster of that number, x first, as if fresh.
  void start(std::uint64_t its_number);
  /// Runs until the end, a failure, or for long enough.
  State run();
  /// Makes a deadlock the launch's failure, with what each warp waits for.
  void deadlock();

  std::uint32_t live() const;  ///< Threads that have not exited.

  // barrier.cluster
  void arrive(std::uint32_t threads);
  void release_if_complete();

  /// Lets lanes go ahead that await others of their warp. False when there are none.
  bool release_joins();

  /// Starts a copy that signals an mbarrier at its end.
  void issue(BulkOperation operation);
  /// Ends, in order, the copies that signal a block's mbarrier, until its phase is over. False when the warp that
  /// issued one has failed.
  bool land_for(Block& block, std::uint32_t barrier);

  Launch* launch;
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<Block>> blocks;  ///< By rank.
  std::uint32_t arrived = 0;                   ///< Threads at barrier.cluster.
  std::uint32_t generation = 0;                ///< Of barrier.cluster.
  std::uint64_t phase = 0;                     ///< The generation's number in the launch.
  std::uint64_t phase_before = 0;              ///< That of the one before.

 private:
  bool loosen();

  std::vector<BulkOperation> under_way_;
};

}  // namespace evo::vgpu

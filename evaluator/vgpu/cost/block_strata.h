#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/block_demand.h"

/// Which blocks of a launch are traced, once it is known what each has executed and asked of memory.
namespace evo::vgpu {

/// About how long a block takes, in issue slots: its instructions, passes through shared memory and sectors from L2,
/// and the latencies on its longest path, as if nothing overlapped. Only ratios of like blocks mean something.
double issue_slots(const BlockWork& work);
/// How far apart two blocks are in that, the second one's counts taken `times`.
double slots_apart(const BlockWork& a, const BlockWork& b, double times);

/// The blocks of a launch, those together that execute the same code about as often and ask as much of memory. The
/// longest come first.
class BlockStrata {
 public:
  explicit BlockStrata(std::span<const BlockWork> work);

  std::size_t count() const { return strata_.size(); }
  /// Some blocks of a stratum have other counts than the rest of it.
  bool uneven() const {
    return std::ranges::any_of(strata_, [](const Stratum& one) { return !one.alike; });
  }
  std::size_t stratum_of(std::uint64_t block) const { return stratum_of_[block]; }
  /// The traces of each stratum, by number.
  std::vector<std::vector<const RecordedBlock*>> traces(const RecordedTrace& trace) const;

  /// Blocks to trace as well, drawn by `salt`, so that every stratum has its traces, `round` of them or more where it
  /// matters: 1, 2, 4. None: there are enough.
  std::vector<std::uint64_t> missing(const RecordedTrace& trace, std::uint64_t salt, std::uint64_t round) const;
  /// Half of the 95 % interval of the launch's time as its traces tell it, relative to the time. `clocks`: what each
  /// traced block takes alone. Blocks that were counted alike may still differ. One trace tells nothing of that.
  double interval(const RecordedTrace& trace, std::span<const double> clocks) const;

 private:
  struct Stratum {
    std::vector<std::uint32_t> blocks;  ///< Their numbers.
    double share = 0;                   ///< The part of all issue slots that they take.
    bool alike = true;                  ///< All have the same counts.
  };
  void divide(std::span<const std::uint32_t> order, double factor);
  std::size_t choose(const BlockWork& block, double factor) const;

  std::span<const BlockWork> work_;
  std::vector<Stratum> strata_;
  std::vector<std::uint8_t> stratum_of_;  ///< Of each block.
};

}  // namespace evo::vgpu

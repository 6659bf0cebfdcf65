#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/launch.h"

/// Which blocks of a launch are traced, once all have run and it is known what each has executed.
namespace evo::vgpu {

/// About how long a block takes, in issue slots: its instructions, and those of its longest warp once for each clock
/// that they wait for each other.
double issue_slots(const BlockWork& work);

/// The blocks of a launch, those that take about as long together. The longest come first.
class BlockStrata {
 public:
  explicit BlockStrata(std::span<const BlockWork> work);

  std::size_t count() const { return strata_.size(); }
  std::size_t stratum_of(std::uint64_t block) const { return stratum_of_[block]; }
  /// The traces of each stratum, by number.
  std::vector<std::vector<const RecordedBlock*>> traces(const RecordedTrace& trace) const;

  /// Blocks to trace as well, drawn by `salt`, so that every stratum has its traces, `round` of them or more where it
  /// matters: 1, 2, 4. None: there are enough.
  std::vector<std::uint64_t> missing(const RecordedTrace& trace, std::uint64_t salt, std::uint64_t round) const;
  /// Half of the 95 % interval of the launch's work as the traces tell it, relative to the work. Blocks of a stratum
  /// may ask different things of the SM although they execute as many instructions. One trace tells nothing of that.
  double interval(const RecordedTrace& trace, std::span<const BlockWork> work) const;

 private:
  void divide(std::span<const std::uint32_t> order, std::span<const double> slots, double factor);

  std::vector<std::vector<std::uint32_t>> strata_;  ///< Numbers of blocks.
  std::vector<std::uint8_t> stratum_of_;            ///< Of each block.
  std::vector<double> shares_;                      ///< The part of all issue slots that the stratum's blocks take.
};

}  // namespace evo::vgpu

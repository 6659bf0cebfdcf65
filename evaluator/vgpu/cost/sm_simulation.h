#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/pipes.h"
#include "evaluator/vgpu/cost/recorded_trace.h"

/// A simulation of one SM that runs recorded blocks.
namespace evo::vgpu {

/// What a warp does that concerns others, and when it issues that.
struct Mark {
  enum class Kind : std::uint8_t { wait, release, barrier, end };
  Kind kind = Kind::end;
  bool waits = true;  ///< Of a barrier.
  std::uint16_t barrier = 0;
  std::uint16_t expected_warps = 0;
  int warp = 0;
  double time = 0;
};

struct SmWork {
  std::uint64_t blocks = 1;  ///< Blocks that the SM runs in all.
  int resident = 1;          ///< Blocks that it runs at a time.
  bool from_memory = false;  ///< Global loads miss L2.
  /// The traces that stand for those blocks, in the order in which they begin; if there are fewer, again from the
  /// first.
  std::vector<const RecordedBlock*> traces;
  std::vector<Mark>* marks = nullptr;  ///< Gets those of its first block, if it is asked for.
};

struct SmResult {
  double clocks = 0;                     ///< Until the last block ends.
  double instructions = 0;               ///< Machine instructions issued.
  std::array<double, kPipes> busy{};     ///< Clocks that a pipe is busy, averaged over its sub-partitions.
  std::array<double, kStalls> stalls{};  ///< Clocks that warps wait, summed over the warps.
  /// The same by the instruction that they wait to issue, without extrapolation.
  std::vector<std::array<double, kStalls>> instruction_stalls;
  /// When the first warp began to wait for the preceding launch; nothing if no warp does.
  std::optional<double> prologue;
  double warp_clocks = 0;  ///< Clocks of resident warps, the denominator of `stalls`.
};

/// Deterministic. Beyond a bound on simulated events the rest is extrapolated from whole blocks, by the instructions
/// that they issue.
SmResult simulate_sm(const DeviceModel& model, const RecordedTrace& trace, const SmWork& work);

}  // namespace evo::vgpu

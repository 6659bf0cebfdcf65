#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo {

// The gates that need no device. Each returns why a candidate stops there, or nothing.

/// Launches, workspaces and tensor maps against the limits of the device, before anything is built (verdict illegal).
std::optional<Failure> check_legality(const Candidate& candidate, const DeviceInfo& device);

/// Blocks of one launch that an SM holds at once; 0: the launch cannot run.
int resident_blocks(const KernelBuild& kernel, const Launch& launch, const DeviceLimits& limits);

/// Spills, ptxas warnings and blocks that do not fit, of the kernels that are launched (verdict over_resources).
std::optional<Failure> check_resources(const Program& program, const Build& build, const DeviceInfo& device);

/// The same; and global data that would outlive a launch, or a programmatic launch that never waits (verdict illegal).
std::optional<Failure> check_build(const Program& program, const Binary& binary, const DeviceInfo& device);

/// Of each launch of the first shape.
std::vector<Residency> residency_of(const Program& program, const Build& build, const DeviceLimits& limits);

/// Times in microseconds that no correct run of a shape can beat.
struct PhysicalFloor {
  double arithmetic_us = 0;  ///< At the peak rate of the task's math; 0 when the device has no such rate.
  double memory_us = 0;      ///< The compulsory traffic at the memory's bandwidth; warm: what the L2 cache cannot hold.
  double launch_us = 0;      ///< The launch floor.

  double us() const;               ///< The largest.
  std::string_view bound() const;  ///< Which one that is: "arithmetic", "memory" or "launch".
};
PhysicalFloor physical_floor(const Task& task, const Bindings& options, const Shape& shape, const DeviceInfo& device,
                             bool cold);

/// Why a timing is not believed (verdict impossible_time or harness_failed).
std::optional<Failure> check_timing(const Timing& timing, double floor_us);

}  // namespace evo

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/compile/ptxas_log.h"
#include "evaluator/device/device.h"

namespace evo {

// The gates that need no device. Each returns why a candidate stops there, or nothing.

/// Launches, workspaces and tensor maps against the limits of the device, before anything is built (verdict illegal).
std::optional<Failure> check_legality(const Candidate& candidate, const DeviceInfo& device);

/// Blocks of one launch that an SM holds at once; 0: the launch cannot run.
int resident_blocks(const KernelResources& resources, const Launch& launch, const DeviceLimits& limits);

/// Spills, ptxas warnings that cost the kernel its point, blocks that do not fit (verdict over_resources).
std::optional<Failure> check_resources(const Program& program, const Build& build, const DeviceInfo& device);

/// The same; and global data that would outlive a launch, or a programmatic launch that never waits (verdict illegal).
std::optional<Failure> check_build(const Program& program, const Binary& binary, const DeviceInfo& device);

/// Occupancy of each launch of a shape, for people: "fp8_sdpa: 128 registers, 34816 B, 4 blocks/SM".
std::string describe_occupancy(const Program& program, const Build& build, const DeviceLimits& limits);

/// The time in microseconds that no correct run of the shape can beat. It is the largest of three: the arithmetic at
/// the peak rate of the task's math, the compulsory traffic beyond the L2 cache at the memory's bandwidth, the launch
/// floor.
double physical_floor_us(const Task& task, const Bindings& options, const Shape& shape, const DeviceInfo& device,
                         bool cold);

/// Why a timing is not believed (verdict impossible_time or harness_failed).
std::optional<Failure> check_timing(const Timing& timing, double floor_us);

}  // namespace evo

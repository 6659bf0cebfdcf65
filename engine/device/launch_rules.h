#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/device/device_limits.h"

/// CUDA's rules for launches, by compute capability: what a launch may ask for, and how many of its blocks an SM holds
/// at once. Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" and "Thread
/// Block Clusters"; CUDA Toolkit 13.0, cuda_occupancy.h (how registers and shared memory are allotted). Sizes are in
/// bytes, registers in 32-bit registers. Nothing here throws: a launch that breaks a rule is a reason in words.
namespace evo {

// The same on every GPU of compute capability 7.5 and above.
inline constexpr std::array<std::uint32_t, 3> kMaxGrid = {0x7fffffff, 65535, 65535};  ///< Blocks in x, y, z.
inline constexpr std::array<std::uint32_t, 3> kMaxBlock = {1024, 1024, 64};           ///< Threads in x, y, z.
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kWarpSize = 32;
inline constexpr int kMaxRegistersPerThread = 255;
inline constexpr int kRegistersPerBlock = 65536;
inline constexpr int kRegisterUnit = 256;  ///< Registers are allotted to a warp in multiples of this.
/// Sub-partitions of an SM. Each has a quarter of the registers, so the SM holds a multiple of this many warps.
inline constexpr int kSubPartitions = 4;
inline constexpr int kSmemPerBlockBytes = 48 * 1024;  ///< Without opting in for more.
inline constexpr int kPortableCluster = 8;  ///< Blocks of the largest cluster that every GPU with clusters runs.

/// What differs between compute capabilities.
struct LaunchRules {
  int sm = 0;  ///< Compute capability times ten.
  int warps_per_sm = 0;
  int blocks_per_sm = 0;
  int barriers_per_sm = 0;  ///< Shared by the resident blocks; 0: they do not limit occupancy.
  int registers_per_sm = 65536;
  int smem_reserved_bytes = 0;           ///< Taken by the system from each block's share of the SM.
  int smem_unit_bytes = 0;               ///< Shared memory is allotted to a block in multiples of this.
  std::span<const int> smem_carve_outs;  ///< Sizes in KiB that shared memory can have on an SM; ascending.
  bool clusters = false;

  int threads_per_sm() const { return warps_per_sm * kWarpSize; }
  int smem_per_sm_bytes() const { return smem_carve_outs.back() * 1024; }
  int smem_per_block_optin_bytes() const { return smem_per_sm_bytes() - smem_reserved_bytes; }
};

/// Ascending by compute capability.
std::span<const LaunchRules> all_launch_rules();

/// The rules of a compute capability times ten. A capability that the table lacks has those of the next lower one.
const LaunchRules& launch_rules(int sm);

/// The limits that every device of a compute capability has. `sm_count` is left for the caller to fill in.
DeviceLimits limits_of(const LaunchRules& rules);

/// Names the limits in which a device differs from the rules of its compute capability. Empty: none, or the table does
/// not have its compute capability.
std::string differences_from_rules(const DeviceLimits& limits);

/// What one block of a kernel takes from an SM.
struct BlockNeeds {
  std::int64_t threads = 1;
  std::int64_t registers_per_thread = 0;  ///< As ptxas reports them; 0: unknown, no limit.
  std::int64_t smem_bytes = 0;            ///< Static and dynamic, without the system's share.
  int barriers = 0;                       ///< As ptxas reports them; 0: unknown, no limit.
};

enum class SmResource { blocks, threads, registers, shared_memory, barriers };
std::string_view name_of(SmResource resource);

struct Occupancy {
  int blocks = 0;  ///< Resident on an SM at once; 0: not even one fits.
  SmResource limit = SmResource::blocks;
};

/// How many blocks an SM of the device holds, shared memory carved out as large as it can be.
Occupancy occupancy(const DeviceLimits& limits, const BlockNeeds& needs);

/// The part of a launch that the driver checks before it starts.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};     ///< Blocks.
  std::array<std::uint32_t, 3> block{1, 1, 1};    ///< Threads.
  std::array<std::uint32_t, 3> cluster{1, 1, 1};  ///< Blocks; portable sizes only.
  std::int64_t smem_bytes = 0;
};

/// Why the device refuses the launch ("a block of 65 threads in z: 1 to 64 are possible"); nothing: it is legal.
std::optional<std::string> illegal_launch(const DeviceLimits& limits, const LaunchShape& launch);

}  // namespace evo

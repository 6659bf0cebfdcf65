#include "engine/device/launch_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/record/enumerators.h"

namespace evo {
namespace {

constexpr int kCarveOuts64[] = {32, 64};
constexpr int kCarveOuts100[] = {0, 8, 16, 32, 64, 100};
constexpr int kCarveOuts164[] = {0, 8, 16, 32, 64, 100, 132, 164};
constexpr int kCarveOuts228[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

constexpr LaunchRules turing() {
  return {.sm = 75, .warps_per_sm = 32, .blocks_per_sm = 16, .smem_unit_bytes = 256, .smem_carve_outs = kCarveOuts64};
}

/// 8.0 and above: the system keeps 1 KiB of each block's shared memory.
constexpr LaunchRules rules(int sm, int warps, int blocks, std::span<const int> carve_outs) {
  return {.sm = sm,
          .warps_per_sm = warps,
          .blocks_per_sm = blocks,
          .smem_reserved_bytes = 1024,
          .smem_unit_bytes = 128,
          .smem_carve_outs = carve_outs};
}

/// 9.0 and above: clusters, and blocks share the SM's barriers.
constexpr LaunchRules with_clusters(LaunchRules rules, int barriers) {
  rules.barriers_per_sm = barriers;
  rules.clusters = true;
  return rules;
}

constexpr std::array kRules = {
    turing(),
    rules(80, 64, 32, kCarveOuts164),
    rules(86, 48, 16, kCarveOuts100),
    rules(87, 48, 16, kCarveOuts164),
    rules(89, 48, 24, kCarveOuts100),
    with_clusters(rules(90, 64, 32, kCarveOuts228), 64),
    with_clusters(rules(100, 64, 32, kCarveOuts228), 64),
    with_clusters(rules(103, 64, 32, kCarveOuts228), 64),
    with_clusters(rules(110, 48, 24, kCarveOuts228), 24),
    with_clusters(rules(120, 48, 24, kCarveOuts100), 24),
    with_clusters(rules(121, 48, 24, kCarveOuts100), 24),
};

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t volume(const std::array<std::uint32_t, 3>& dims) {
  return std::uint64_t{dims[0]} * dims[1] * dims[2];
}

std::optional<std::string> outside(std::string_view what, std::string_view parts,
                                   const std::array<std::uint32_t, 3>& dims, const std::array<std::uint32_t, 3>& most) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 1 || dims[axis] > most[axis])
      return fmt::format("a {} of {} {} in {}: 1 to {} are possible", what, dims[axis], parts, "xyz"[axis], most[axis]);
  }
  return std::nullopt;
}

std::optional<std::string> illegal_cluster(const LaunchRules& rules, const LaunchShape& launch) {
  const std::uint64_t blocks = volume(launch.cluster);
  if (blocks == 1) return std::nullopt;
  if (!rules.clusters) return fmt::format("a cluster of {} blocks needs sm_90", blocks);
  if (blocks < 1 || blocks > kPortableCluster)
    return fmt::format("a cluster of {} blocks: 1 to {} are possible", blocks, kPortableCluster);
  for (std::size_t axis = 0; axis < launch.grid.size(); ++axis) {
    if (launch.grid[axis] % launch.cluster[axis] != 0)
      return fmt::format("a grid of {} blocks in {} is no multiple of the cluster's {}", launch.grid[axis], "xyz"[axis],
                         launch.cluster[axis]);
  }
  return std::nullopt;
}

}  // namespace

std::span<const LaunchRules> all_launch_rules() {
  return kRules;
}

const LaunchRules& launch_rules(int sm) {
  const auto above = std::ranges::upper_bound(kRules, sm, {}, &LaunchRules::sm);
  return above == kRules.begin() ? kRules.front() : *(above - 1);
}

DeviceLimits limits_of(const LaunchRules& rules) {
  DeviceLimits limits;
  limits.sm = rules.sm;
  limits.smem_per_block_bytes = rules.smem_per_block_optin_bytes();
  limits.smem_per_sm_bytes = rules.smem_per_sm_bytes();
  limits.registers_per_sm = rules.registers_per_sm;
  limits.threads_per_block = kMaxThreadsPerBlock;
  return limits;
}

std::string differences_from_rules(const DeviceLimits& limits) {
  const LaunchRules& rules = launch_rules(limits.sm);
  if (rules.sm != limits.sm) return {};
  const DeviceLimits expected = limits_of(rules);
  std::string text;
  const auto compare = [&](std::string_view what, std::int64_t found, std::int64_t wanted) {
    if (found != wanted) text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", found, what, wanted);
  };
  compare("bytes of shared memory a block", limits.smem_per_block_bytes, expected.smem_per_block_bytes);
  compare("bytes of shared memory an SM", limits.smem_per_sm_bytes, expected.smem_per_sm_bytes);
  compare("registers an SM", limits.registers_per_sm, expected.registers_per_sm);
  compare("threads a block", limits.threads_per_block, expected.threads_per_block);
  return text;
}

std::string_view name_of(SmResource resource) {
  return resource == SmResource::shared_memory ? "shared memory" : enumerator_name(resource);
}

Occupancy occupancy(const DeviceLimits& limits, const BlockNeeds& needs) {
  const LaunchRules& rules = launch_rules(limits.sm);
  const std::int64_t warps = std::max<std::int64_t>(round_up(needs.threads, kWarpSize) / kWarpSize, 1);
  Occupancy least{rules.blocks_per_sm, SmResource::blocks};
  const auto limit = [&](std::int64_t blocks, SmResource by) {
    if (blocks < least.blocks) least = {static_cast<int>(blocks), by};
  };
  limit(needs.threads > limits.threads_per_block ? 0 : rules.warps_per_sm / warps, SmResource::threads);
  if (needs.registers_per_thread > 0) {
    const std::int64_t of_warp = round_up(needs.registers_per_thread * kWarpSize, kRegisterUnit);
    // The hardware checks a block as if it filled all sub-partitions alike.
    const bool refused = needs.registers_per_thread > kMaxRegistersPerThread ||
                         of_warp * round_up(warps, kSubPartitions) > kRegistersPerBlock;
    const std::int64_t warps_of_sm = limits.registers_per_sm / kSubPartitions / of_warp * kSubPartitions;
    limit(refused ? 0 : warps_of_sm / warps, SmResource::registers);
  }
  const std::int64_t smem = round_up(needs.smem_bytes + rules.smem_reserved_bytes, rules.smem_unit_bytes);
  if (needs.smem_bytes > limits.smem_per_block_bytes) {
    limit(0, SmResource::shared_memory);
  } else if (smem > 0) {
    limit(limits.smem_per_sm_bytes / smem, SmResource::shared_memory);
  }
  if (rules.barriers_per_sm > 0 && needs.barriers > 0)
    limit(rules.barriers_per_sm / needs.barriers, SmResource::barriers);
  return least;
}

std::optional<std::string> illegal_launch(const DeviceLimits& limits, const LaunchShape& launch) {
  if (auto reason = outside("grid", "blocks", launch.grid, kMaxGrid)) return reason;
  if (auto reason = outside("block", "threads", launch.block, kMaxBlock)) return reason;
  if (const std::uint64_t threads = volume(launch.block);
      threads > static_cast<std::uint64_t>(limits.threads_per_block))
    return fmt::format("{} threads in a block: 1 to {} are possible", threads, limits.threads_per_block);
  if (launch.smem_bytes > limits.smem_per_block_bytes)
    return fmt::format("{} bytes of shared memory, a block can have {}", launch.smem_bytes,
                       limits.smem_per_block_bytes);
  return illegal_cluster(launch_rules(limits.sm), launch);
}

}  // namespace evo

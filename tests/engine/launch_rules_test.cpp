#include "engine/device/launch_rules.h"

#include <cuda_occupancy.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <climits>
#include <functional>
#include <set>

using namespace evo;

namespace {

/// The device of a compute capability, in the words of NVIDIA's occupancy calculator.
cudaOccDeviceProp nvidia_device(const LaunchRules& rules) {
  cudaOccDeviceProp device;
  device.computeMajor = rules.sm / 10;
  device.computeMinor = rules.sm % 10;
  device.maxThreadsPerBlock = kMaxThreadsPerBlock;
  device.maxThreadsPerMultiprocessor = rules.threads_per_sm();
  device.regsPerBlock = kRegistersPerBlock;
  device.regsPerMultiprocessor = rules.registers_per_sm;
  device.warpSize = kWarpSize;
  device.sharedMemPerBlock = kSmemPerBlockBytes;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(rules.smem_per_sm_bytes());
  device.numSms = 1;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(rules.smem_per_block_optin_bytes());
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(rules.smem_reserved_bytes);
  return device;
}

/// What NVIDIA's calculator answers for a kernel that has opted in for all its shared memory.
int nvidia_blocks(const LaunchRules& rules, const BlockNeeds& needs) {
  const cudaOccDeviceProp device = nvidia_device(rules);
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = static_cast<int>(needs.registers_per_thread);
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = static_cast<std::size_t>(std::max<std::int64_t>(needs.smem_bytes, 0));
  kernel.numBlockBarriers = needs.barriers;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &kernel, &state, static_cast<int>(needs.threads), static_cast<std::size_t>(needs.smem_bytes));
  REQUIRE(error == CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

DeviceLimits hopper() {
  return limits_of(launch_rules(90));
}

std::string why_illegal(const std::function<void(LaunchShape&)>& change, const DeviceLimits& limits = hopper()) {
  LaunchShape launch;
  change(launch);
  return illegal_launch(limits, launch).value_or("");
}

}  // namespace

TEST_CASE("the table has the compute capabilities from 7.5 to 12.1 in ascending order") {
  std::vector<int> found;
  for (const LaunchRules& rules : all_launch_rules()) found.push_back(rules.sm);
  CHECK(found == std::vector<int>{75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121});
}

TEST_CASE("each compute capability has the limits of the CUDA Programming Guide") {
  const auto row = [](int sm) {
    const LaunchRules& rules = launch_rules(sm);
    return std::array{rules.threads_per_sm(), rules.blocks_per_sm, rules.smem_per_sm_bytes() / 1024,
                      rules.smem_per_block_optin_bytes() / 1024};
  };
  CHECK(row(75) == std::array{1024, 16, 64, 64});
  CHECK(row(80) == std::array{2048, 32, 164, 163});
  CHECK(row(86) == std::array{1536, 16, 100, 99});
  CHECK(row(87) == std::array{1536, 16, 164, 163});
  CHECK(row(89) == std::array{1536, 24, 100, 99});
  CHECK(row(90) == std::array{2048, 32, 228, 227});
  CHECK(row(100) == std::array{2048, 32, 228, 227});
  CHECK(row(103) == std::array{2048, 32, 228, 227});
  CHECK(row(110) == std::array{1536, 24, 228, 227});
  CHECK(row(120) == std::array{1536, 24, 100, 99});
  CHECK(row(121) == std::array{1536, 24, 100, 99});
}

TEST_CASE("a compute capability that the table lacks has the rules of the next lower one") {
  CHECK(launch_rules(90).sm == 90);
  CHECK(launch_rules(88).sm == 87);
  CHECK(launch_rules(101).sm == 100);
  CHECK(launch_rules(200).sm == 121);
  CHECK(launch_rules(70).sm == 75);
}

TEST_CASE("NVIDIA's occupancy calculator knows the same blocks and carve-outs of an SM") {
  for (const LaunchRules& rules : all_launch_rules()) {
    CAPTURE(rules.sm);
    const cudaOccDeviceProp device = nvidia_device(rules);
    int value = 0;
    REQUIRE(cudaOccMaxBlocksPerMultiprocessor(&value, &device) == CUDA_OCC_SUCCESS);
    CHECK(value == rules.blocks_per_sm);
    REQUIRE(cudaOccSMemAllocationGranularity(&value, &device) == CUDA_OCC_SUCCESS);
    CHECK(value == rules.smem_unit_bytes);
    REQUIRE(cudaOccRegAllocationGranularity(&value, &device) == CUDA_OCC_SUCCESS);
    CHECK(value == kRegisterUnit);
    REQUIRE(cudaOccSubPartitionsPerMultiprocessor(&value, &device) == CUDA_OCC_SUCCESS);
    CHECK(value == kSubPartitions);
    std::set<std::size_t> sizes;
    for (std::size_t bytes = 0; bytes <= device.sharedMemPerMultiprocessor; bytes += 512) {
      std::size_t size = bytes;
      REQUIRE(cudaOccAlignUpShmemSizeVoltaPlus(&size, &device) == CUDA_OCC_SUCCESS);
      sizes.insert(size / 1024);
    }
    CHECK(std::ranges::equal(sizes, rules.smem_carve_outs, {}, {},
                             [](int kib) { return static_cast<std::size_t>(kib); }));
    std::size_t beyond = device.sharedMemPerMultiprocessor + 1;
    CHECK(cudaOccAlignUpShmemSizeVoltaPlus(&beyond, &device) == CUDA_OCC_ERROR_INVALID_INPUT);
  }
}

TEST_CASE("occupancy agrees with NVIDIA's occupancy calculator over registers, threads and shared memory") {
  for (const LaunchRules& rules : all_launch_rules()) {
    const DeviceLimits limits = limits_of(rules);
    std::vector<std::int64_t> sizes = {0, 1, 127, 128, 129, 255, 256, 257, 1024, 1025, 49152, 49153};
    for (std::int64_t bytes = 3900; bytes < rules.smem_per_sm_bytes(); bytes += 7900) sizes.push_back(bytes);
    for (const int around : {-129, -128, -1, 0, 1, 128, 129, 1024})
      sizes.push_back(rules.smem_per_block_optin_bytes() + around);
    int differ = 0;
    for (std::int64_t registers = 1; registers <= kMaxRegistersPerThread; ++registers) {
      for (std::int64_t threads = 1; threads <= kMaxThreadsPerBlock + 33; threads += threads % 32 == 1 ? 31 : 1) {
        for (const std::int64_t smem : sizes) {
          const BlockNeeds needs{threads, registers, smem, 1};
          if (occupancy(limits, needs).blocks == nvidia_blocks(rules, needs)) continue;
          if (++differ > 3) continue;
          UNSCOPED_INFO("sm " << rules.sm << ", " << registers << " registers, " << threads << " threads, " << smem
                              << " bytes: " << occupancy(limits, needs).blocks << ", NVIDIA's "
                              << nvidia_blocks(rules, needs));
        }
      }
    }
    CHECK(differ == 0);
  }
}

TEST_CASE("occupancy agrees with NVIDIA's occupancy calculator over barriers") {
  for (const LaunchRules& rules : all_launch_rules()) {
    for (int barriers = 0; barriers <= 16; ++barriers) {
      for (std::int64_t threads = 32; threads <= kMaxThreadsPerBlock; threads += 32) {
        const BlockNeeds needs{threads, 32, 0, barriers};
        CHECK(occupancy(limits_of(rules), needs).blocks == nvidia_blocks(rules, needs));
      }
    }
  }
}

TEST_CASE("occupancy names the resource that limits it") {
  const auto limit = [](const BlockNeeds& needs) { return name_of(occupancy(hopper(), needs).limit); };
  CHECK(limit({.threads = 32}) == "blocks");
  CHECK(limit({.threads = 128}) == "threads");
  CHECK(limit({.threads = 128, .registers_per_thread = 168}) == "registers");
  CHECK(limit({.threads = 128, .registers_per_thread = 168, .smem_bytes = 100 * 1024}) == "shared memory");
  CHECK(limit({.threads = 32, .barriers = 16}) == "barriers");
}

TEST_CASE("registers are allotted to warps in groups of four") {
  // 184 registers are 5888 a warp: 11 warps fit 65536 registers, but only 8 fit the four sub-partitions.
  CHECK(occupancy(hopper(), {.threads = 8 * 32, .registers_per_thread = 184}).blocks == 1);
  CHECK(occupancy(hopper(), {.threads = 9 * 32, .registers_per_thread = 184}).blocks == 0);
  CHECK(occupancy(hopper(), {.threads = 9 * 32, .registers_per_thread = 168}).blocks == 1);
}

TEST_CASE("a block beyond a limit fits no SM") {
  CHECK(occupancy(hopper(), {.threads = 1024}).blocks == 2);
  CHECK(occupancy(hopper(), {.threads = 1025}).blocks == 0);
  CHECK(occupancy(hopper(), {.threads = 32, .registers_per_thread = 255}).blocks == 8);
  CHECK(occupancy(hopper(), {.threads = 32, .registers_per_thread = 256}).blocks == 0);
  CHECK(occupancy(hopper(), {.threads = 32, .smem_bytes = 232448}).blocks == 1);
  CHECK(occupancy(hopper(), {.threads = 32, .smem_bytes = 232449}).blocks == 0);
}

TEST_CASE("a device's own limits count") {
  DeviceLimits limits = hopper();
  CHECK(occupancy(limits, {.threads = 128, .registers_per_thread = 128}).blocks == 4);
  limits.registers_per_sm /= 2;
  CHECK(occupancy(limits, {.threads = 128, .registers_per_thread = 128}).blocks == 2);
  limits.smem_per_sm_bytes = 100 * 1024;
  CHECK(occupancy(limits, {.threads = 128, .smem_bytes = 60 * 1024}).blocks == 1);
}

TEST_CASE("each limit of a launch has a legal side and an illegal side that is named") {
  CHECK(why_illegal([](LaunchShape& l) { l.grid = {0x7fffffff, 1, 1}; }).empty());
  CHECK(why_illegal([](LaunchShape& l) {
          l.grid = {0x80000000, 1, 1};
        }) == "a grid of 2147483648 blocks in x: 1 to 2147483647 are possible");
  CHECK(why_illegal([](LaunchShape& l) { l.grid = {1, 65535, 65535}; }).empty());
  CHECK(why_illegal([](LaunchShape& l) {
          l.grid = {1, 65536, 1};
        }) == "a grid of 65536 blocks in y: 1 to 65535 are possible");
  CHECK(why_illegal([](LaunchShape& l) {
          l.grid = {1, 1, 65536};
        }) == "a grid of 65536 blocks in z: 1 to 65535 are possible");
  CHECK(why_illegal([](LaunchShape& l) {
          l.grid = {0, 1, 1};
        }) == "a grid of 0 blocks in x: 1 to 2147483647 are possible");
  CHECK(why_illegal([](LaunchShape& l) { l.block = {1024, 1, 1}; }).empty());
  CHECK(why_illegal([](LaunchShape& l) {
          l.block = {1025, 1, 1};
        }) == "a block of 1025 threads in x: 1 to 1024 are possible");
  CHECK(why_illegal([](LaunchShape& l) { l.block = {1, 1024, 1}; }).empty());
  CHECK(why_illegal([](LaunchShape& l) {
          l.block = {1, 1025, 1};
        }) == "a block of 1025 threads in y: 1 to 1024 are possible");
  CHECK(why_illegal([](LaunchShape& l) { l.block = {16, 1, 64}; }).empty());
  CHECK(why_illegal([](LaunchShape& l) {
          l.block = {1, 1, 65};
        }) == "a block of 65 threads in z: 1 to 64 are possible");
  CHECK(why_illegal([](LaunchShape& l) {
          l.block = {1, 0, 1};
        }) == "a block of 0 threads in y: 1 to 1024 are possible");
  CHECK(why_illegal([](LaunchShape& l) {
          l.block = {1024, 2, 1};
        }) == "2048 threads in a block: 1 to 1024 are possible");
  CHECK(why_illegal([](LaunchShape& l) { l.smem_bytes = 232448; }).empty());
  CHECK(why_illegal([](LaunchShape& l) { l.smem_bytes = 232449; }) ==
        "232449 bytes of shared memory, a block can have 232448");
}

TEST_CASE("a cluster is portable, divides the grid and needs compute capability 9.0") {
  const auto of = [](std::uint32_t blocks) {
    return [blocks](LaunchShape& l) { l.grid = l.cluster = {blocks, 1, 1}; };
  };
  CHECK(why_illegal(of(8)).empty());
  CHECK(why_illegal(of(9)) == "a cluster of 9 blocks: 1 to 8 are possible");
  CHECK(why_illegal(of(0)) == "a grid of 0 blocks in x: 1 to 2147483647 are possible");
  CHECK(why_illegal([](LaunchShape& l) { l.cluster = {0, 1, 1}; }) == "a cluster of 0 blocks: 1 to 8 are possible");
  CHECK(why_illegal([](LaunchShape& l) {
          l.grid = {2, 3, 1};
          l.cluster = {2, 2, 1};
        }) == "a grid of 3 blocks in y is no multiple of the cluster's 2");
  CHECK(why_illegal(of(2), limits_of(launch_rules(89))) == "a cluster of 2 blocks needs sm_90");
  CHECK(why_illegal(of(2), limits_of(launch_rules(120))).empty());
}

TEST_CASE("a device that differs from the rules of its compute capability is described") {
  DeviceLimits limits = hopper();
  CHECK(differences_from_rules(limits).empty());
  limits.smem_per_sm_bytes = 100;
  limits.threads_per_block = 512;
  CHECK(differences_from_rules(limits) ==
        "100 bytes of shared memory an SM instead of 233472, 512 threads a block instead of 1024");
  limits.sm = 88;
  CHECK(differences_from_rules(limits).empty());
}

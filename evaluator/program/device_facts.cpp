#include "evaluator/program/device_facts.h"

#include <cuda.h>

#include <map>

#include "engine/device/launch_rules.h"
#include "evaluator/program/machine.h"
#include "evaluator/vgpu/machine/memory.h"

namespace evo::program {
namespace {

// The largest textures of every GPU since compute capability 5 (CUDA C++ Programming Guide, "Technical Specifications
// per Compute Capability").
std::map<int, int> texture_facts() {
  return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131072},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131072},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16384},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16384},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16384},
          {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768},
          {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
          {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
          {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512}};
}

std::map<int, int> launch_facts(const LaunchRules& rules) {
  return {{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, static_cast<int>(kMaxBlock[0])},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, static_cast<int>(kMaxBlock[1])},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, static_cast<int>(kMaxBlock[2])},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, static_cast<int>(kMaxGrid[0])},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, static_cast<int>(kMaxGrid[1])},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, static_cast<int>(kMaxGrid[2])},
          {CU_DEVICE_ATTRIBUTE_WARP_SIZE, kWarpSize},
          {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSmemPerBlockBytes},
          {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, rules.smem_per_block_optin_bytes()},
          {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, rules.smem_per_sm_bytes()},
          {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, rules.smem_reserved_bytes},
          {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, kRegistersPerBlock},
          {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, rules.registers_per_sm},
          {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, rules.threads_per_sm()},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, rules.blocks_per_sm},
          {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, rules.clusters ? 1 : 0},
          {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, rules.clusters ? 1 : 0},
          {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1}};
}

std::map<int, int> facts() {
  const DeviceInfo& info = machine().info();
  const LaunchRules& rules = launch_rules(info.limits.sm);
  const int bus_bits = 5120;
  std::map<int, int> all = {
      {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, static_cast<int>(info.clock_ghz * 1e6)},
      {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, info.limits.sm_count},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
      // Bytes move twice a clock.
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, static_cast<int>(info.memory_gbytes_per_s * 1e6 / (2.0 * bus_bits / 8))},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, bus_bits},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, static_cast<int>(info.l2_bytes)},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, info.limits.sm / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, info.limits.sm % 10},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
      {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
      {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, static_cast<int>(info.l2_bytes / 4 * 3)},
      {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 128 << 20}};
  all.merge(launch_facts(rules));
  all.merge(texture_facts());
  return all;
}

}  // namespace

int attribute_of_device(int attribute) {
  static const std::map<int, int> all = facts();
  const auto found = all.find(attribute);
  return found == all.end() ? 0 : found->second;
}

const unsigned char* uuid_of_device() {
  static const unsigned char uuid[] = "virtual GPU 0001";
  return uuid;
}

std::size_t& limit_of_device(int limit) {
  // CU_LIMIT_STACK_SIZE, _PRINTF_FIFO_SIZE, _MALLOC_HEAP_SIZE, _DEV_RUNTIME_SYNC_DEPTH, _PENDING_LAUNCH_COUNT,
  // _MAX_L2_FETCH_GRANULARITY, _PERSISTING_L2_CACHE_SIZE.
  static std::size_t limits[] = {1024, 1 << 20, vgpu::kHeapBytes, 2, 2048, 64, 0};
  require(limit >= 0 && limit < static_cast<int>(std::size(limits)));
  return limits[limit];
}

}  // namespace evo::program

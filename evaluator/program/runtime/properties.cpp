#include "evaluator/program/runtime/properties.h"

#include <cuda.h>

#include <cstring>
#include <initializer_list>
#include <string>

#include "evaluator/program/device_facts.h"
#include "evaluator/program/machine.h"

namespace evo::program {
namespace {

/// A struct that grows member after member, as a C compiler lays it out.
class Struct {
 public:
  void bytes(const void* from, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), begin, begin + count);
  }
  void ints(std::initializer_list<int> values) {
    align(sizeof(int));
    for (const int value : values) bytes(&value, sizeof value);
  }
  void facts(std::initializer_list<CUdevice_attribute> attributes) {
    for (const CUdevice_attribute one : attributes) ints({attribute_of_device(one)});
  }
  void zeros(std::size_t count) {
    for (; count > 0; --count) ints({0});
  }
  void size(std::size_t value) {
    align(sizeof value);
    bytes(&value, sizeof value);
  }
  void size_fact(CUdevice_attribute attribute) { size(static_cast<std::size_t>(attribute_of_device(attribute))); }
  std::vector<std::byte> take() {
    align(sizeof(std::size_t));
    return std::move(bytes_);
  }

 private:
  void align(std::size_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }
  std::vector<std::byte> bytes_;
};

void add_identity(Struct& out, bool twelve) {
  char name[256] = {};
  std::strncpy(name, machine().info().name.c_str(), sizeof name - 1);
  out.bytes(name, sizeof name);
  out.bytes(uuid_of_device(), 16);
  out.zeros(3);  // luid, its node mask
  out.size(static_cast<std::size_t>(machine().info().memory_bytes));
  out.size_fact(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  out.facts({CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_WARP_SIZE});
  out.size_fact(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  out.facts({CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
             CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
             CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
             CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z});
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_CLOCK_RATE});
  out.size_fact(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  out.facts({CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
  out.size_fact(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  out.size_fact(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
}

void add_textures(Struct& out, bool twelve) {
  out.facts({CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH});
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH});
  out.facts({CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT});
  out.zeros(2);  // mipmapped
  out.facts({CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH});
  out.zeros(2);  // gather
  out.facts({CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH});
  out.zeros(3);  // other 3D extents
  out.facts({CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS});
  out.zeros(2 + 1 + 2 + 3 + 2 + 3 + 1 + 2);  // layered cubes, surfaces
  out.size_fact(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
}

void add_memory(Struct& out, bool twelve) {
  out.facts({CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
             CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_TCC_DRIVER,
             CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING});
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE});
  out.facts({CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
             CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
             CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED,
             CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED});
  out.size_fact(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  out.facts({CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
             CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID,
             CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED});
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO});
  out.facts({CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
             CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED,
             CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH});
  if (twelve) out.zeros(1);  // cooperative launches on several devices
}

void add_recent(Struct& out) {
  out.size_fact(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  out.facts({CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
             CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
             CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE});
  out.size_fact(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  out.facts({CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
             CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
             CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED});
  out.zeros(6);  // GPUDirect, handles of pools, deferred arrays, events of other processes
  out.facts({CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS});
}

}  // namespace

std::vector<std::byte> device_properties(PropertiesOf version) {
  const bool twelve = version == PropertiesOf::cuda_12;
  Struct out;
  add_identity(out, twelve);
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_GPU_OVERLAP});
  out.facts({CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT});
  out.facts({CU_DEVICE_ATTRIBUTE_INTEGRATED, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY});
  if (twelve) out.facts({CU_DEVICE_ATTRIBUTE_COMPUTE_MODE});
  add_textures(out, twelve);
  add_memory(out, twelve);
  add_recent(out);
  out.zeros(63);  // In CUDA 13 some have names; both end here.
  return out.take();
}

}  // namespace evo::program

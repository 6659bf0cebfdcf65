#include "evaluator/program/driver/structs.h"

#include <cuda.h>

#include <vector>

#include "evaluator/program/launch_attributes.h"

namespace evo::program {
namespace {

/// One end of a copy.
struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t pitch, height, x, y, z;
};

Place place_of(const End& end, const cudaExtent& extent) {
  if (end.type == CU_MEMORYTYPE_ARRAY) return array_of(end.array).box({end.x, end.y, end.z}, extent);
  const Address begin = end.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<Address>(end.host) : end.device;
  require(begin != 0);
  const std::size_t slice = end.pitch * end.height;
  return {begin + end.x + end.y * end.pitch + end.z * slice, end.pitch, slice};
}

}  // namespace

Copy copy_of_2d(const void* asked) {
  require(asked != nullptr);
  const auto& one = *static_cast<const CUDA_MEMCPY2D*>(asked);
  const cudaExtent extent{one.WidthInBytes, one.Height, 1};
  return {place_of({one.dstMemoryType, one.dstHost, one.dstDevice, one.dstArray, one.dstPitch, 0, one.dstXInBytes,
                    one.dstY, 0},
                   extent),
          place_of({one.srcMemoryType, one.srcHost, one.srcDevice, one.srcArray, one.srcPitch, 0, one.srcXInBytes,
                    one.srcY, 0},
                   extent),
          one.WidthInBytes, one.Height, 1};
}

Copy copy_of_3d(const void* asked) {
  require(asked != nullptr);
  const auto& one = *static_cast<const CUDA_MEMCPY3D*>(asked);
  const cudaExtent extent{one.WidthInBytes, one.Height, one.Depth};
  return {place_of({one.dstMemoryType, one.dstHost, one.dstDevice, one.dstArray, one.dstPitch, one.dstHeight,
                    one.dstXInBytes, one.dstY, one.dstZ},
                   extent),
          place_of({one.srcMemoryType, one.srcHost, one.srcDevice, one.srcArray, one.srcPitch, one.srcHeight,
                    one.srcXInBytes, one.srcY, one.srcZ},
                   extent),
          one.WidthInBytes, one.Height, one.Depth};
}

Fill fill_of(const void* asked) {
  require(asked != nullptr);
  const auto& one = *static_cast<const CUDA_MEMSET_NODE_PARAMS*>(asked);
  require(one.elementSize == 1 || one.elementSize == 2 || one.elementSize == 4);
  return {{one.dst, one.pitch, 0}, one.value, one.elementSize, one.width, one.height, 1};
}

std::vector<std::vector<std::byte>> arguments_of_driver(const Function& function, void* const* values,
                                                        void* const* extra) {
  if (extra == nullptr) return arguments_of(function, values);
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) begin = static_cast<const std::byte*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const std::size_t*>(extra[1]);
  }
  require(begin != nullptr || bytes == 0);
  const std::vector<std::byte> packed(begin, begin + bytes);
  return arguments_of(function, nullptr, &packed);
}

KernelLaunch launch_of_node(const void* asked) {
  require(asked != nullptr);
  const auto& one = *static_cast<const CUDA_KERNEL_NODE_PARAMS*>(asked);
  const void* handle = one.func != nullptr ? static_cast<const void*>(one.func) : static_cast<const void*>(one.kern);
  require(is_function(handle), Code::invalid_handle);
  KernelLaunch launch;
  launch.function = static_cast<Function*>(const_cast<void*>(handle));
  launch.grid = {one.gridDimX, one.gridDimY, one.gridDimZ};
  launch.block = {one.blockDimX, one.blockDimY, one.blockDimZ};
  launch.dynamic_smem_bytes = one.sharedMemBytes;
  launch.arguments = arguments_of_driver(*launch.function, one.kernelParams, one.extra);
  return launch;
}

HostCall host_call_of(const void* asked) {
  require(asked != nullptr);
  const auto& one = *static_cast<const CUDA_HOST_NODE_PARAMS*>(asked);
  require(one.fn != nullptr);
  return {one.fn, one.userData};
}

KernelLaunch launch_of_config(const void* asked, Function& function, void* const* values, void* const* extra,
                              void*& stream) {
  KernelLaunch launch = shape_of_config(asked, function, stream);
  launch.arguments = arguments_of_driver(function, values, extra);
  return launch;
}

KernelLaunch shape_of_config(const void* asked, Function& function, void*& stream) {
  require(asked != nullptr);
  const auto& one = *static_cast<const CUlaunchConfig*>(asked);
  KernelLaunch launch;
  launch.function = &function;
  launch.grid = {one.gridDimX, one.gridDimY, one.gridDimZ};
  launch.block = {one.blockDimX, one.blockDimY, one.blockDimZ};
  launch.dynamic_smem_bytes = one.sharedMemBytes;
  take_attributes(launch, one.attrs, one.numAttrs);
  stream = one.hStream;
  return launch;
}

int function_attribute(const Function& function, int attribute) {
  const vgpu::KernelFacts& facts = function.facts;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return function.most_threads();
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(facts.static_smem_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(facts.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return facts.registers;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return machine().info().limits.sm;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return function.dynamic_smem_limit;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return function.carve_out;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return facts.required_cluster[0] != 0 ? 1 : 0;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return static_cast<int>(facts.required_cluster[0]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return static_cast<int>(facts.required_cluster[1]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return static_cast<int>(facts.required_cluster[2]);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return function.non_portable_cluster ? 1 : 0;
    default:
      return 0;
  }
}

void set_function_attribute(Function& function, int attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) function.ask_for_smem(value);
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) function.carve_out = value;
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) function.non_portable_cluster = value != 0;
}

void clear_pointer_attribute(void* value, int attribute) {
  require(value != nullptr);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<std::uint64_t*>(value) = 0;
      break;
    default:
      *static_cast<std::uint32_t*>(value) = 0;
  }
}

void give_pointer_attribute(void* value, int attribute, Address address) {
  require(value != nullptr);
  const Range* range = machine().range_of(address);
  require(range != nullptr || on_device(address));
  const bool device = range == nullptr || range->kind == MemoryKind::device;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          device || range->kind == MemoryKind::managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require(!device);
      *static_cast<void**>(value) = reinterpret_cast<void*>(address);
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = range == nullptr ? 0 : range->number;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = range != nullptr && range->kind == MemoryKind::managed ? 1 : 0;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = 0;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = range == nullptr ? address : range->begin;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(value) = range == nullptr ? 0 : range->bytes;
      break;
    default:
      throw Refusal(Code::not_supported);
  }
}

}  // namespace evo::program

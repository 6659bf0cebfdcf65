#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "engine/base/error.h"
#include "evaluator/base/shared_library.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// The CUDA driver's functions, bound at run time by their versioned names. Tests fill it with fakes.
/// Needs a driver of CUDA 12.0 or newer. Functions that came later may be null.
struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) driver_version = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;

  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDeviceGetUuid_v2) device_uuid = nullptr;
  decltype(&cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&cuDeviceTotalMem_v2) device_total_memory = nullptr;

  decltype(&cuDevicePrimaryCtxRetain) context_retain = nullptr;
  decltype(&cuDevicePrimaryCtxRelease_v2) context_release = nullptr;
  decltype(&cuCtxSetCurrent) context_set_current = nullptr;

  decltype(&cuMemAlloc_v2) memory_allocate = nullptr;
  decltype(&cuMemFree_v2) memory_free = nullptr;
  decltype(&cuMemHostAlloc) host_allocate = nullptr;
  decltype(&cuMemFreeHost) host_free = nullptr;
  decltype(&cuMemcpyHtoDAsync_v2) copy_to_device = nullptr;
  decltype(&cuMemcpyDtoHAsync_v2) copy_to_host = nullptr;
  decltype(&cuMemcpyDtoDAsync_v2) copy_on_device = nullptr;
  decltype(&cuMemsetD8Async) memory_set = nullptr;

  decltype(&cuModuleLoadData) module_load = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_function = nullptr;
  decltype(&cuModuleGetGlobal_v2) module_variable = nullptr;
  decltype(&cuFuncSetAttribute) function_set_attribute = nullptr;
  /// cuFuncGetParamInfo (CUDA 12.4); null in an older driver.
  CUresult(CUDAAPI* function_parameter)(CUfunction, std::size_t, std::size_t*, std::size_t*) = nullptr;
  decltype(&cuLaunchKernelEx) launch = nullptr;
  decltype(&cuTensorMapEncodeTiled) encode_tensor_map = nullptr;

  decltype(&cuStreamCreate) stream_create = nullptr;
  decltype(&cuStreamDestroy_v2) stream_destroy = nullptr;
  decltype(&cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&cuStreamBeginCapture_v2) capture_begin = nullptr;
  decltype(&cuStreamEndCapture) capture_end = nullptr;
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate = nullptr;
  decltype(&cuGraphLaunch) graph_launch = nullptr;
  decltype(&cuGraphDestroy) graph_destroy = nullptr;
  decltype(&cuGraphExecDestroy) graph_exec_destroy = nullptr;

  decltype(&cuEventCreate) event_create = nullptr;
  decltype(&cuEventDestroy_v2) event_destroy = nullptr;
  decltype(&cuEventRecord) event_record = nullptr;
  /// The entry point of every driver; cuda.h of CUDA 12.8 renames it to one that older drivers lack.
  CUresult(CUDAAPI* event_elapsed)(float*, CUevent, CUevent) = nullptr;

  SharedLibrary library;  ///< Keeps the functions valid; empty with fakes.
};

/// Loads libcuda.so.1. Null when there is none or it is too old; `why_not` then gives the reason, in one line.
std::shared_ptr<const Driver> load_driver(std::string* why_not);

/// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string describe(const Driver& driver, CUresult result);

/// Throws machine_error "what: CUDA_ERROR_..." unless the call succeeded. For calls that no candidate can
/// make fail.
void require(const Driver& driver, CUresult result, const std::string& what);

/// The candidate's failure when a launch or wait has failed. A fault on the device breaks the context (device_lost);
/// anything else was refused before it ran. Throws machine_error when the GPU itself failed (memory error, lost from
/// the bus).
Failure candidate_failure(const Driver& driver, CUresult result, const std::string& what);

}  // namespace evo::cuda

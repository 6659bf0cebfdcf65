#include "evaluator/cuda/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace evo::cuda {
namespace {

/// Binds everything that a driver of CUDA 12.0 has; the first missing name otherwise.
const char* bind_all(const SharedLibrary& library, Driver& driver) {
  Binder bind(library);
  bind(driver.init, "cuInit");
  bind(driver.driver_version, "cuDriverGetVersion");
  bind(driver.error_name, "cuGetErrorName");
  bind(driver.error_string, "cuGetErrorString");
  bind(driver.device_count, "cuDeviceGetCount");
  bind(driver.device_get, "cuDeviceGet");
  bind(driver.device_name, "cuDeviceGetName");
  bind(driver.device_uuid, "cuDeviceGetUuid_v2");
  bind(driver.device_attribute, "cuDeviceGetAttribute");
  bind(driver.device_total_memory, "cuDeviceTotalMem_v2");
  bind(driver.context_retain, "cuDevicePrimaryCtxRetain");
  bind(driver.context_release, "cuDevicePrimaryCtxRelease_v2");
  bind(driver.context_set_current, "cuCtxSetCurrent");
  bind(driver.memory_allocate, "cuMemAlloc_v2");
  bind(driver.memory_free, "cuMemFree_v2");
  bind(driver.host_allocate, "cuMemHostAlloc");
  bind(driver.host_free, "cuMemFreeHost");
  bind(driver.copy_to_device, "cuMemcpyHtoDAsync_v2");
  bind(driver.copy_to_host, "cuMemcpyDtoHAsync_v2");
  bind(driver.copy_on_device, "cuMemcpyDtoDAsync_v2");
  bind(driver.memory_set, "cuMemsetD8Async");
  bind(driver.module_load, "cuModuleLoadData");
  bind(driver.module_unload, "cuModuleUnload");
  bind(driver.module_function, "cuModuleGetFunction");
  bind(driver.module_variable, "cuModuleGetGlobal_v2");
  bind(driver.function_set_attribute, "cuFuncSetAttribute");
  bind(driver.launch, "cuLaunchKernelEx");
  bind(driver.encode_tensor_map, "cuTensorMapEncodeTiled");
  bind(driver.stream_create, "cuStreamCreate");
  bind(driver.stream_destroy, "cuStreamDestroy_v2");
  bind(driver.stream_synchronize, "cuStreamSynchronize");
  bind(driver.capture_begin, "cuStreamBeginCapture_v2");
  bind(driver.capture_end, "cuStreamEndCapture");
  bind(driver.graph_instantiate, "cuGraphInstantiateWithFlags");
  bind(driver.graph_launch, "cuGraphLaunch");
  bind(driver.graph_destroy, "cuGraphDestroy");
  bind(driver.graph_exec_destroy, "cuGraphExecDestroy");
  bind(driver.event_create, "cuEventCreate");
  bind(driver.event_destroy, "cuEventDestroy_v2");
  bind(driver.event_record, "cuEventRecord");
  bind(driver.event_elapsed, "cuEventElapsedTime");
  library.bind(driver.function_parameter, "cuFuncGetParamInfo");
  return bind.missing();
}

/// A kernel did this while it ran; every later call of the context fails with it (driver API, "CUresult").
bool is_fault(CUresult result) {
  constexpr std::array kCodes = {
      CUDA_ERROR_ILLEGAL_ADDRESS,
      CUDA_ERROR_LAUNCH_TIMEOUT,
      CUDA_ERROR_ASSERT,
      CUDA_ERROR_HARDWARE_STACK_ERROR,
      CUDA_ERROR_ILLEGAL_INSTRUCTION,
      CUDA_ERROR_MISALIGNED_ADDRESS,
      CUDA_ERROR_INVALID_ADDRESS_SPACE,
      CUDA_ERROR_INVALID_PC,
      CUDA_ERROR_LAUNCH_FAILED,
      CUDA_ERROR_UNKNOWN,
  };
  return std::ranges::find(kCodes, result) != kCodes.end();
}

bool is_machine_failure(CUresult result) {
  constexpr std::array kCodes = {
      CUDA_ERROR_NOT_INITIALIZED,      CUDA_ERROR_DEINITIALIZED,      CUDA_ERROR_NO_DEVICE,
      CUDA_ERROR_INVALID_DEVICE,       CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_ECC_UNCORRECTABLE,
      CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_SYSTEM_NOT_READY,   CUDA_ERROR_SYSTEM_DRIVER_MISMATCH};
  return std::ranges::find(kCodes, result) != kCodes.end();
}

}  // namespace

std::shared_ptr<const Driver> load_driver(std::string* why_not) {
  auto driver = std::make_shared<Driver>();
  // WSL keeps the driver outside the loader's path.
  constexpr std::array kPlaces = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
  std::string loader_message;
  for (const char* place : kPlaces) {
    std::string message;
    driver->library = SharedLibrary::open(place, &message);
    if (driver->library) break;
    if (loader_message.empty()) loader_message = message;
  }
  std::string why;
  if (!driver->library) {
    const bool absent = loader_message.find("No such file") != std::string::npos;
    why = absent ? "no NVIDIA driver: libcuda.so.1 not found" : "the NVIDIA driver does not load: " + loader_message;
  } else if (const char* missing = bind_all(driver->library, *driver)) {
    why = fmt::format("the NVIDIA driver is older than CUDA 12.0: libcuda.so.1 has no {}", missing);
  }
  if (why.empty()) return driver;
  if (why_not != nullptr) *why_not = why;
  return nullptr;
}

std::string describe(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return fmt::format("CUDA error {}", static_cast<int>(result));
  }
  if (driver.error_string(result, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

void require(const Driver& driver, CUresult result, const std::string& what) {
  if (result != CUDA_SUCCESS) throw machine_error(fmt::format("{}: {}", what, describe(driver, result)));
}

Failure candidate_failure(const Driver& driver, CUresult result, const std::string& what) {
  if (is_machine_failure(result)) require(driver, result, what);
  Failure failure;
  failure.reason = fmt::format("{}: {}", what, describe(driver, result));
  failure.device_lost = is_fault(result);
  failure.verdict = !failure.device_lost                  ? Verdict::launch_failed
                    : result == CUDA_ERROR_LAUNCH_TIMEOUT ? Verdict::timed_out
                                                          : Verdict::crashed;
  return failure;
}

}  // namespace evo::cuda

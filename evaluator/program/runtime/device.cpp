#include <cuda.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "evaluator/program/device_facts.h"
#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/runtime/properties.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

void check_device(int device) {
  require(device == 0, Code::invalid_device);
}

/// For what a process with one device that is always ready has to do: nothing.
cudaError_t nothing() {
  return answer([] {});
}

}  // namespace

EVO_ENTRY cudaError_t cudaGetDeviceCount(int* count) {
  return answer([&] {
    require(count != nullptr);
    *count = 1;
  });
}

EVO_ENTRY cudaError_t cudaGetDevice(int* device) {
  return answer([&] {
    require(device != nullptr);
    *device = 0;
  });
}

EVO_ENTRY cudaError_t cudaSetDevice(int device) {
  return answer([&] { check_device(device); });
}

EVO_ENTRY cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}

EVO_ENTRY cudaError_t cudaChooseDevice(int* device, const void*) {
  return cudaGetDevice(device);
}

EVO_ENTRY cudaError_t cudaSetValidDevices(int*, int) {
  return nothing();
}

EVO_ENTRY cudaError_t cudaSetDeviceFlags(unsigned) {
  return nothing();
}

EVO_ENTRY cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return answer([&] {
    require(flags != nullptr);
    *flags = cudaDeviceMapHost;
  });
}

EVO_ENTRY cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return answer([&] {
    require(value != nullptr && attribute > 0);
    check_device(device);
    *value = attribute_of_device(attribute);
  });
}

EVO_ENTRY cudaError_t cudaGetDeviceProperties(void* properties, int device) {
  return answer([&] {
    require(properties != nullptr);
    check_device(device);
    const std::vector<std::byte> filled = device_properties(PropertiesOf::cuda_13);
    std::memcpy(properties, filled.data(), filled.size());
  });
}

EVO_ENTRY cudaError_t cudaGetDeviceProperties_v2(void* properties, int device) {
  return answer([&] {
    require(properties != nullptr);
    check_device(device);
    const std::vector<std::byte> filled = device_properties(PropertiesOf::cuda_12);
    std::memcpy(properties, filled.data(), filled.size());
  });
}

EVO_ENTRY cudaError_t cudaDeviceSynchronize() {
  return answer([] { synchronise_all(); });
}

EVO_ENTRY cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}

EVO_ENTRY cudaError_t cudaDeviceReset() {
  last_error() = 0;
  return answer([] { machine().reset(); }, Survives::yes);
}

EVO_ENTRY cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}

EVO_ENTRY cudaError_t cudaDeviceSetLimit(int limit, std::size_t value) {
  return answer([&] { limit_of_device(limit) = value; });
}

EVO_ENTRY cudaError_t cudaDeviceGetLimit(std::size_t* value, int limit) {
  return answer([&] {
    require(value != nullptr);
    *value = limit_of_device(limit);
  });
}

EVO_ENTRY cudaError_t cudaDeviceSetCacheConfig(int) {
  return nothing();
}

EVO_ENTRY cudaError_t cudaDeviceGetCacheConfig(int* config) {
  return answer([&] {
    require(config != nullptr);
    *config = cudaFuncCachePreferNone;
  });
}

EVO_ENTRY cudaError_t cudaDeviceSetSharedMemConfig(int) {
  return nothing();
}

EVO_ENTRY cudaError_t cudaDeviceGetSharedMemConfig(int* config) {
  return answer([&] {
    require(config != nullptr);
    *config = cudaSharedMemBankSizeFourByte;
  });
}

EVO_ENTRY cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return answer([&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}

EVO_ENTRY cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  return answer([&] {
    require(can != nullptr);
    *can = 0;
  });
}

EVO_ENTRY cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return answer([] { throw Refusal(Code::invalid_device); });
}

EVO_ENTRY cudaError_t cudaDeviceDisablePeerAccess(int) {
  return answer([] { throw Refusal(Code::peer_not_enabled); });
}

EVO_ENTRY cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  return answer([&] {
    check_device(device);
    require(id != nullptr && bytes > static_cast<int>(std::strlen(kBusId)));
    std::strcpy(id, kBusId);
  });
}

EVO_ENTRY cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return answer([&] {
    require(device != nullptr && id != nullptr);
    require(std::strcmp(id, kBusId) == 0, Code::invalid_device);
    *device = 0;
  });
}

EVO_ENTRY cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return answer([&] {
    require(free != nullptr && total != nullptr);
    *free = machine().free_bytes();
    *total = static_cast<std::size_t>(machine().info().memory_bytes);
  });
}

EVO_ENTRY cudaError_t cudaCtxResetPersistingL2Cache() {
  return nothing();
}

EVO_ENTRY cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                       unsigned long long flags, int* found) {
  return answer([&] {
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    const auto code = static_cast<Code>(cuGetProcAddress(name, function, static_cast<int>(version), flags, &status));
    if (found != nullptr) *found = static_cast<int>(status);
    require(code == Code::success || (code == Code::not_found && found != nullptr), code);
  });
}

EVO_ENTRY cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* found) {
  return cudaGetDriverEntryPointByVersion(name, function, kVersion, flags, found);
}

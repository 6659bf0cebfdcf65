#include "evaluator/cuda/device_query.h"

#include <fmt/format.h>

#include <array>

namespace evo::cuda {
namespace {

// The fastest empty launch in a graph of 20 on an H200 took 0.54 us (one CTA, programmatic dependent launch).
constexpr double kLaunchFloorUs = 0.5;

}  // namespace

std::string arch_name(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

int count_devices(const Driver& driver, std::string* why_none) {
  const auto none = [&](const std::string& why) {
    if (why_none != nullptr) *why_none = why;
    return 0;
  };
  const CUresult started = driver.init(0);
  if (started == CUDA_ERROR_NO_DEVICE) return none("NVIDIA driver found, but no GPU");
  if (started == CUDA_ERROR_STUB_LIBRARY) return none("no NVIDIA driver: libcuda.so.1 is the CUDA Toolkit's stub");
  if (started != CUDA_SUCCESS) return none("NVIDIA driver found, but it does not start: " + describe(driver, started));
  int count = 0;
  const CUresult counted = driver.device_count(&count);
  if (counted != CUDA_SUCCESS) return none("NVIDIA driver found, but it lists no GPU: " + describe(driver, counted));
  if (count == 0) return none("NVIDIA driver found, but no GPU");
  return count;
}

DeviceInfo query_device(const Driver& driver, int ordinal) {
  DeviceInfo info;
  info.id = fmt::format("{}:{}", kKind, ordinal);
  info.kind = kKind;
  CUdevice device = 0;
  require(driver, driver.device_get(&device, ordinal), info.id + ": cuDeviceGet");
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    require(driver, driver.device_attribute(&value, which, device), info.id + ": cuDeviceGetAttribute");
    return value;
  };

  std::array<char, 256> name{};
  require(driver, driver.device_name(name.data(), name.size() - 1, device), info.id + ": cuDeviceGetName");
  info.name = name.data();
  CUuuid uuid{};
  require(driver, driver.device_uuid(&uuid, device), info.id + ": cuDeviceGetUuid");
  info.uuid = uuid_text(uuid);
  int version = 0;
  require(driver, driver.driver_version(&version), "cuDriverGetVersion");
  info.driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);

  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.arch = arch_name(major, minor);
  info.limits.sm = 10 * major + minor;
  info.limits.smem_per_block_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.limits.smem_per_sm_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.limits.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  info.limits.threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.limits.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);

  std::size_t memory_bytes = 0;
  require(driver, driver.device_total_memory(&memory_bytes, device), info.id + ": cuDeviceTotalMem");
  info.memory_bytes = static_cast<std::int64_t>(memory_bytes);
  info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.clock_ghz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e-6;  // kHz
  // Memory clocks count one edge of a double data rate.
  info.memory_gbytes_per_s = 2.0 * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e-6 *
                             attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  info.launch_floor_us = kLaunchFloorUs;
  return info;
}

}  // namespace evo::cuda

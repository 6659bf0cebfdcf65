#include "evaluator/worker/device_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/record/record_json.h"

namespace evo {

EVO_FIELDS(DeviceLimits, sm, smem_per_block_bytes, smem_per_sm_bytes, registers_per_sm, threads_per_block, sm_count);
EVO_FIELDS(DeviceInfo, id, kind, name, arch, uuid, driver, limits, memory_bytes, l2_bytes, clock_ghz,
           memory_gbytes_per_s, launch_floor_us);

std::string devices_to_json(const std::vector<DeviceInfo>& devices) {
  return to_json<nlohmann::json>(devices).dump();
}

std::vector<DeviceInfo> devices_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  try {
    auto devices = from_json<std::vector<DeviceInfo>>(json, "devices");
    for (const DeviceInfo& info : devices)
      if (find_kind(info.kind) == nullptr) throw machine_error(fmt::format("a device of the kind '{}'", info.kind));
    return devices;
  } catch (const RecordError& error) {
    throw machine_error(fmt::format("no list of devices: {}", error.what()));
  }
}

}  // namespace evo

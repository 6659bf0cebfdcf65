#include "evaluator/worker/device_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"

namespace evo {
namespace {

using nlohmann::json;

/// Calls `each` with the name and the place of every fact.
template <typename Info, typename Each>
void each_fact(Info& info, const Each& each) {
  each("id", info.id);
  each("kind", info.kind);
  each("name", info.name);
  each("arch", info.arch);
  each("uuid", info.uuid);
  each("driver", info.driver);
  each("sm", info.limits.sm);
  each("smem_per_block_bytes", info.limits.smem_per_block_bytes);
  each("smem_per_sm_bytes", info.limits.smem_per_sm_bytes);
  each("registers_per_sm", info.limits.registers_per_sm);
  each("threads_per_block", info.limits.threads_per_block);
  each("sm_count", info.limits.sm_count);
  each("wgmma", info.limits.wgmma);
  each("memory_bytes", info.memory_bytes);
  each("l2_bytes", info.l2_bytes);
  each("clock_ghz", info.clock_ghz);
  each("memory_gbytes_per_s", info.memory_gbytes_per_s);
  each("launch_floor_us", info.launch_floor_us);
}

}  // namespace

std::string devices_to_json(const std::vector<DeviceInfo>& devices) {
  json list = json::array();
  for (const DeviceInfo& info : devices) {
    json one = json::object();
    each_fact(info, [&](const char* name, const auto& value) { one[name] = value; });
    list.push_back(std::move(one));
  }
  return list.dump();
}

std::vector<DeviceInfo> devices_from_json(const std::string& text) {
  try {
    std::vector<DeviceInfo> devices;
    for (const json& one : json::parse(text)) {
      DeviceInfo info;
      each_fact(info, [&](const char* name, auto& value) { one.at(name).get_to(value); });
      if (find_kind(info.kind) == nullptr) throw machine_error(fmt::format("a device of the kind '{}'", info.kind));
      devices.push_back(std::move(info));
    }
    return devices;
  } catch (const json::exception& error) {
    throw machine_error(fmt::format("no list of devices: {}", error.what()));
  }
}

}  // namespace evo

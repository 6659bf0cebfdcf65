#pragma once

#include <string>
#include <vector>

#include "evaluator/device/device.h"

namespace evo {

/// Devices as one line of JSON, for a program on another host.
std::string devices_to_json(const std::vector<DeviceInfo>& devices);
/// Throws machine_error for anything else. What is said of hosts is left out.
std::vector<DeviceInfo> devices_from_json(const std::string& json);

}  // namespace evo

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/device.h"

namespace evo::vgpu {

/// The models' names: h200 (the default), h100, a100, l4, rtx4090.
std::vector<std::string> model_names();

/// What is known of a model without making a device. Throws usage_error for an unknown name, listing the names.
DeviceInfo model_info(std::string_view model);

/// A virtual GPU: interprets PTX on the CPU, checks every access, models latency. Deterministic.
std::unique_ptr<Device> make_device(std::string_view model);

}  // namespace evo::vgpu

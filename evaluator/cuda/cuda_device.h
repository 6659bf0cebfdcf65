#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evaluator/device/device.h"

namespace evo::cuda {

/// Every CUDA GPU of this machine; empty without a driver or a GPU. `why_none` then gives the reason, in one line.
std::vector<DeviceInfo> list_devices(std::string* why_none = nullptr);

/// Opens GPU `ordinal` in this process. Throws machine_error when there is none.
std::unique_ptr<Device> make_device(int ordinal);

}  // namespace evo::cuda

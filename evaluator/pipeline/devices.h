#pragma once

#include <memory>
#include <string>

#include "evaluator/device/device.h"

namespace evo {

/// Opens "cuda:N" or "vgpu:MODEL" in this process; `threads` of the CPU are a virtual GPU's. Throws as resolve_device
/// does.
std::unique_ptr<Device> open_device(const std::string& id, int threads = 1);

}  // namespace evo

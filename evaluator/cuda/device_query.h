#pragma once

#include <string>
#include <string_view>

#include "evaluator/cuda/driver.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// The kind of a CUDA GPU: begins the ids ("cuda:0").
inline constexpr std::string_view kKind = "cuda";

/// The architecture that NVRTC compiles for, with its specific instructions where it has any: wgmma and tcgen05 need
/// the "a" of sm_90a and newer.
std::string arch_name(int major, int minor);

/// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi writes it.
std::string uuid_text(const CUuuid& uuid);

/// Starts the driver and counts its GPUs. For zero, `why_none` gives the reason in one line.
int count_devices(const Driver& driver, std::string* why_none);

/// Reads one GPU's attributes. The driver must have been started. Throws machine_error.
DeviceInfo query_device(const Driver& driver, int ordinal);

}  // namespace evo::cuda

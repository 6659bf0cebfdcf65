#pragma once

#include <optional>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/device/device.h"
#include "evaluator/device/device_check.h"

namespace evo {

struct DoctorReport {
  std::vector<Check> checks;
};

/// Checks NVRTC and every kind of device. A device is checked by a kernel that is compiled and run, and whose result is
/// compared. Whatever is missing is a failed check, never an exception.
DoctorReport examine_machine();

/// Compiles a small kernel for a device, runs it there and compares the result.
Check check_device(Device& device, Compiler& compiler);

/// A failed check when the device's limits differ from the launch rules of its compute capability.
std::optional<Check> check_limits(const DeviceInfo& info);

}  // namespace evo

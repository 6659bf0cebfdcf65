#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device_kind.h"
#include "evaluator/device/device.h"
#include "evaluator/device/device_check.h"

namespace evo {

class Compiler;  // evaluator/compile/compiler.h

using DeviceOpener = std::function<std::unique_ptr<Device>()>;
/// Opens a device, runs a small kernel on it and compares the result.
using DeviceProbe = std::function<Check(const DeviceInfo& info, const DeviceOpener& open)>;

/// A kind of device, how its devices are found and opened, and what compiles for them. Devices are named KIND:NAME. To
/// add a kind, write a function that returns this, with every member, and register it (evaluator/hosts/devices.h).
struct DeviceBackend {
  DeviceKind kind;
  std::string usage;  ///< How users name its devices: "cuda:N".
  /// Every device of this kind on this machine, the default one first. With none, `why_none` (which may be null) says
  /// why, in one line.
  std::function<std::vector<DeviceInfo>(std::string* why_none)> list;
  /// The device KIND:NAME; an empty name is KIND alone. Throws machine_error when it is not there, and usage_error for
  /// a name that no device of this kind can have.
  std::function<DeviceInfo(std::string_view name)> find;
  /// Opens it in this process. `threads` of the CPU are for devices that compute there.
  std::function<std::unique_ptr<Device>(std::string_view name, int threads)> open;
  /// Opens the compiler of its programs; throws machine_error with what is missing. A kind that models another has that
  /// one's compiler, since what is compiled for one of them is not compiled again for the other.
  std::function<std::unique_ptr<Compiler>()> open_compiler;
  /// For `evo doctor`: what works and what is missing.
  std::function<std::vector<Check>(const DeviceProbe& probe)> examine;
};

}  // namespace evo

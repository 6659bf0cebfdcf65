#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/device/device_backend.h"

namespace evo {

/// Adds a kind of device, all of whose functions are there. The kinds that evo ships are registered before main begins;
/// a program that adds its own does so before it starts threads, in the parent and in its worker processes alike.
void register_device_backend(DeviceBackend backend);
/// Every registered one, in the order of registration.
const std::vector<DeviceBackend>& device_backends();

/// Every device on this machine: those of the kind that was registered first come first.
std::vector<DeviceInfo> all_devices();

/// The device of a name that a user typed: "auto" (the first of all devices), KIND or KIND:NAME. Throws usage_error for
/// a name that no device can have, and machine_error, with what is missing, for a device that is not there.
DeviceInfo resolve_device(std::string_view name);

/// Opens the device of an id in this process. `threads` of the CPU are for devices that compute there. Throws as
/// resolve_device does.
std::unique_ptr<Device> open_device(const std::string& id, int threads = 1);

/// Opens the compiler of a kind of device ("vgpu"). Throws usage_error for an unknown kind, and machine_error with what
/// is missing.
std::unique_ptr<Compiler> open_compiler(std::string_view kind);

/// The hidden command behind worker processes: serves requests on the inherited socket until it closes. `arguments` are
/// those after "worker". Returns the exit code.
int worker_main(const std::vector<std::string>& arguments);

}  // namespace evo

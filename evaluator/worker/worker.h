#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/device/device.h"

namespace evo {

/// Opens the device or the compiler of a worker; tests give fakes.
struct WorkerTools {
  /// `threads` of the CPU are for devices that compute there.
  std::function<std::unique_ptr<Device>(const std::string& id, int threads)> open_device;
  std::function<std::unique_ptr<Compiler>(const std::string& kind)> open_compiler;  ///< Of a kind of devices.
  bool touch_files = false;  ///< Tools of tests leave marks in folders: their workers keep the rights of a GPU's.
};

/// Behind a compile worker's kind of devices: it stays in the working folder and reads whatever the user may read, for
/// sources that include files beside them. Every other one reads its libraries and headers alone.
inline constexpr const char* kReadsAnywhere = "reads-anywhere";

/// Serves requests on kWorkerSocket until the parent closes it. `arguments`: "compile" and a kind of devices, or
/// "device", a device's id and optionally a number of threads; or the arguments of an end of a link to another host
/// (remote_link.h). The level of the parent's log may follow (log_argument). Returns the exit code: 0 when the parent
/// is done, 2 for unknown arguments, 3 when a message is not understood or the device does not open; the parent then
/// gets the reason.
int serve_worker(std::vector<std::string> arguments, const WorkerTools& tools);

}  // namespace evo

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/device/device.h"

namespace evo {

/// Opens what a worker works with; tests give fakes.
struct WorkerTools {
  /// `threads` of the CPU are a virtual GPU's.
  std::function<std::unique_ptr<Device>(const std::string& id, int threads)> open_device;
  std::function<std::unique_ptr<Compiler>()> open_compiler;
};

/// Serves requests on kWorkerSocket until the parent closes it. `arguments`: "compile", or "device", a device's id and
/// perhaps a virtual GPU's number of threads. Returns the exit code: 0 when the parent is done, 2 for unknown
/// arguments, 3 when a message could not be understood or the device could not be opened (the parent is told why).
int serve_worker(const std::vector<std::string>& arguments, const WorkerTools& tools);

}  // namespace evo

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/compiler.h"
#include "evaluator/device.h"

namespace evo {

/// Opens what a worker works with; tests give fakes.
struct WorkerTools {
  std::function<std::unique_ptr<Device>(const std::string& id)> open_device;
  std::function<std::unique_ptr<Compiler>()> open_compiler;
};

/// Serves requests on kWorkerSocket until the parent closes it. `arguments`: "compile", or "device" and a device's id.
/// Returns the exit code: 0 when the parent is done, 2 for unknown arguments, 3 when a message could not be understood or
/// the device could not be opened (the parent is told why).
int serve_worker(const std::vector<std::string>& arguments, const WorkerTools& tools);

}  // namespace evo

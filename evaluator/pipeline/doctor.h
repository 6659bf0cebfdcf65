#pragma once

#include <string>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/device/device.h"

namespace evo {

/// One thing that evo needs of a machine.
struct Check {
  std::string name;  ///< "NVIDIA driver", "cuda:0", "NVRTC".
  bool ok = false;
  std::string found;  ///< What there is, or why not; one line.
  std::string fix;    ///< What to do; empty when ok.
};

struct DoctorReport {
  std::vector<Check> checks;
};

/// Looks at driver, GPUs, NVRTC, NVML and the virtual GPU. Each check does the thing it speaks of: kernels
/// are compiled, run and their results compared. Never throws for what is missing.
DoctorReport examine_machine();

/// Compiles a small kernel for a device, runs it there and compares its result.
Check check_device(Device& device, Compiler& compiler);

}  // namespace evo

#pragma once

#include <string>

namespace evo {

/// One thing that evo needs of a machine, and whether it works.
struct Check {
  std::string name;  ///< "NVIDIA driver", "cuda:0", "NVRTC".
  bool ok = false;
  std::string found;             ///< What there is, or why not; one line.
  std::string fix;               ///< What to do; empty when ok.
  std::string device_kind = {};  ///< Of a check that ran a kernel on a device.
};

}  // namespace evo

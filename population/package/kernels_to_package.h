#pragma once

#include <string>
#include <vector>

#include "population/code/request.h"

namespace evo {

/// The content of a package.
struct PackageRequest {
  std::vector<ExportRequest> kernels;  ///< Of one task, device architecture and set of options. At least one.
  std::string name;                    ///< Of the package and, with a number, of the launchers: "evo_softmax".
  bool under_evos_licence = false;     ///< The task is shipped with evo; of others evo knows no licence.
  std::string torch_reference;  ///< The text of the task's reference.py (torch_reference_path). Empty: it has none.
};

}  // namespace evo

#pragma once

#include <string>
#include <vector>

#include "population/export/choice.h"
#include "population/package/torch_call.h"

namespace evo {

/// The C++ that binds the launchers of exported files to torch: the operators NAME and NAME_out.
struct TorchBinding {
  const PackageRequest& request;
  const TorchCall& call;
  std::vector<std::string> launchers;  ///< One for each of the request's kernels.
  std::vector<Specialised> kernels;    ///< Every program of every kernel, numbered.
  std::vector<Measured> measured;      ///< By which a call's kernel is chosen; empty for one kernel.
};

std::string torch_binding_code(const TorchBinding& binding);

/// One source with the exported files, without their programs and provenance, and a function for Python, by pybind11,
/// that returns new tensors.
std::string torch_function_source(const TorchBinding& binding, const std::string& function);

}  // namespace evo

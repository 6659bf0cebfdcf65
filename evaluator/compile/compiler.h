#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "evaluator/device/device.h"

namespace evo {

/// NVRTC, found at run time. One for each process; calls are serialised by the caller.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Compiles CUDA C++ for `arch` ("sm_90a") to a cubin with its PTX. Both, or a Failure (compile_failed) with the
  /// first error in the reason and the whole log.
  virtual std::variant<Binary, Failure> compile(std::string_view source, std::string_view arch, int max_registers) = 0;
  virtual std::string version() const = 0;  ///< "13.0".
  virtual std::string path() const = 0;
};

/// Looks in $EVO_NVRTC, the loader's path, $CUDA_HOME, /usr/local/cuda and Python's nvidia packages. Throws
/// machine_error that says where it looked and how to install it.
std::unique_ptr<Compiler> make_nvrtc_compiler();

/// What NVRTC is called with. Part of a program's identity: another set of options is another binary.
std::vector<std::string> compile_options(std::string_view arch, int max_registers);

}  // namespace evo

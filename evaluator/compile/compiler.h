#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "evaluator/device/device.h"

namespace evo {

/// Compiles candidates: NVRTC, or a fake in tests. Used by one thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Compiles CUDA C++ for `arch` ("sm_90a"). Gives cubin and PTX, or a Failure (compile_failed) with the first error
  /// as its reason and the whole log. `max_registers`: for each thread; 0: no cap.
  virtual std::variant<Binary, Failure> compile(std::string_view source, std::string_view arch, int max_registers) = 0;
  virtual std::string version() const = 0;  ///< "13.0".
  virtual std::string path() const = 0;     ///< Of its library.
};

}  // namespace evo

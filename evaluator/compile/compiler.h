#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/record/record.h"
#include "engine/task/candidate.h"
#include "evaluator/device/device.h"

namespace evo {

/// What is compiled, and how.
struct SourceRequest {
  std::string source;
  std::string arch = "sm_90a";
  int max_registers = 0;  ///< For each thread; 0: no cap.
  /// The kernels that will be launched, by their C++ names. They must be there; instances of templates
  /// ("reduce<float, 256>") are made.
  std::vector<std::string> kernels = {};
  /// The variables that will be filled, by their C++ names. They must be there.
  std::vector<std::string> variables = {};
  std::string name = "kernel.cu";         ///< For messages.
  std::vector<std::string> options = {};  ///< Of the compiler, after our own: "-DTILE=32".
  std::vector<std::string> include_folders = {};
};

/// What compiles a program, with the kernels and variables of its plans.
SourceRequest compile_request(const Program& program, std::string_view arch);

/// Compiles candidates: NVRTC, in this process or in another one, or a fake in tests. Used by one thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Compiles CUDA C++ for an architecture ("sm_90a"). Gives cubin and PTX, or a Failure (compile_failed) with the
  /// first error as its reason and the whole log. The headers of the CUDA Toolkit and of the C++ library that kernels
  /// use are there for sources that need them.
  virtual std::variant<Binary, Failure> compile(const SourceRequest& request) = 0;
  virtual std::string version() = 0;  ///< "13.0".

  std::variant<Binary, Failure> compile(std::string_view source, std::string_view arch, int max_registers);
  /// As compile_request says. What a Failure says names lines of the templates.
  std::variant<Binary, Failure> compile(const Program& program, std::string_view arch);
};

/// The failure with the places of the program's templates in place of those of its source.
Failure translated(Failure failure, const Program& program);

EVO_RECORD(SourceRequest, source, arch, max_registers, kernels, variables, name, options, include_folders);

}  // namespace evo

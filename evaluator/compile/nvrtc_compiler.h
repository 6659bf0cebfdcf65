#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc.h"

namespace evo {

/// A source that may need more than a generated candidate: headers, options, instances of templates.
struct SourceRequest {
  std::string source;
  std::string name = "kernel.cu";  ///< For messages.
  std::string arch = "sm_90a";
  std::vector<std::string> options;  ///< Of NVRTC, after our own: "-DTILE=32", "-I", "folder".
  std::vector<std::string> include_folders;
  std::vector<std::string> kernel_expressions;  ///< C++ names to instantiate and look up: "reduce<float, 256>".
};
struct CompiledSource {
  Binary binary;
  std::vector<std::string> kernels;  ///< The PTX name of each expression.
};

/// A compiler for sources that people wrote themselves.
class SourceCompiler : public Compiler {
 public:
  using Compiler::compile;
  virtual std::variant<CompiledSource, Failure> compile(const SourceRequest& request) = 0;
};

/// What NVRTC is called with for a candidate. Part of a program's identity: other options give another binary.
std::vector<std::string> compile_options(std::string_view arch, int max_registers);

/// The compiler on the NVRTC of this machine. Looks in $EVO_NVRTC, the loader's path, $CUDA_HOME, /usr/local/cuda and
/// Python's nvidia packages. Throws machine_error with where it looked and how to install it.
std::unique_ptr<Compiler> make_nvrtc_compiler();

/// The compiler on a given NVRTC: a real one, or a table of fakes in tests.
std::unique_ptr<SourceCompiler> make_compiler(Nvrtc nvrtc);

}  // namespace evo

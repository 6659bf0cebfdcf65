#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc.h"

namespace evo {

/// A source that needs more than a generated candidate does: headers, options, instances of templates.
struct SourceRequest {
  std::string source;
  std::string name = "kernel.cu";  ///< What messages call it.
  std::string arch = "sm_90a";
  std::vector<std::string> options;  ///< Of NVRTC, after our own: "-DTILE=32", "-I", "folder".
  std::vector<std::string> include_folders;
  std::vector<std::string> kernel_expressions;  ///< C++ names to instantiate and look up: "reduce<float, 256>".
};
struct CompiledSource {
  Binary binary;
  std::vector<std::string> kernels;  ///< The PTX name of each expression.
};

/// NVRTC with all that people's own sources need.
class SourceCompiler : public Compiler {
 public:
  using Compiler::compile;
  virtual std::variant<CompiledSource, Failure> compile(const SourceRequest& request) = 0;
};

/// The compiler on a given NVRTC: a real one, or a table of fakes in tests.
std::unique_ptr<SourceCompiler> make_compiler(Nvrtc nvrtc);

}  // namespace evo

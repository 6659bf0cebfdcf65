#include "evaluator/compile/compiler.h"

#include <utility>

namespace evo {

std::variant<Binary, Failure> Compiler::compile(std::string_view source, std::string_view arch, int max_registers) {
  SourceRequest request;
  request.source = source;
  request.arch = arch;
  request.max_registers = max_registers;
  return compile(request);
}

std::variant<Binary, Failure> Compiler::compile(const Program& program, std::string_view arch) {
  SourceRequest request;
  request.source = program.source;
  request.arch = arch;
  request.max_registers = program.max_registers;
  request.kernels = kernels_of(program);
  request.variables = variables_of(program);
  auto compiled = compile(request);
  if (auto* failure = std::get_if<Failure>(&compiled)) return translated(std::move(*failure), program);
  return compiled;
}

Failure translated(Failure failure, const Program& program) {
  failure.reason = program.lines.translated(failure.reason);
  failure.log = program.lines.translated(failure.log);
  return failure;
}

}  // namespace evo

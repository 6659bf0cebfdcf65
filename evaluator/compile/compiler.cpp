#include "evaluator/compile/compiler.h"

#include <utility>

namespace evo {

SourceRequest compile_request(const Program& program, std::string_view arch) {
  return {program.source, std::string(arch), program.max_registers, kernels_of(program), variables_of(program)};
}

std::variant<Binary, Failure> Compiler::compile(std::string_view source, std::string_view arch, int max_registers) {
  return compile(SourceRequest{std::string(source), std::string(arch), max_registers});
}

std::variant<Binary, Failure> Compiler::compile(const Program& program, std::string_view arch) {
  auto compiled = compile(compile_request(program, arch));
  if (auto* failure = std::get_if<Failure>(&compiled)) return translated(std::move(*failure), program);
  return compiled;
}

Failure translated(Failure failure, const Program& program) {
  failure.reason = program.lines.translated(failure.reason);
  failure.log = program.lines.translated(failure.log);
  return failure;
}

}  // namespace evo

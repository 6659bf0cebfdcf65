#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/compiler.h"
#include "evaluator/nvrtc.h"

namespace evo {

/// The compiler on a given NVRTC: a real one, or a table of fakes in tests.
std::unique_ptr<Compiler> make_compiler(Nvrtc nvrtc);

/// What NVRTC is called with. Part of a program's identity: another set of options is another binary.
std::vector<std::string> compile_options(std::string_view arch, int max_registers);

}  // namespace evo

#pragma once

#include <memory>

#include "evaluator/compiler.h"
#include "evaluator/nvrtc.h"

namespace evo {

/// The compiler on a given NVRTC: a real one, or a table of fakes in tests.
std::unique_ptr<Compiler> make_compiler(Nvrtc nvrtc);

}  // namespace evo

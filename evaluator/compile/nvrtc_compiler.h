#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/compile/compiler.h"

namespace evo {

struct Nvrtc;  // evaluator/compile/nvrtc.h

/// What NVRTC is called with for a source without headers. Part of a program's identity: other options give another
/// binary.
std::vector<std::string> compile_options(std::string_view arch, int max_registers);

/// The compiler on the NVRTC of this machine and the CUDA Toolkit's headers, if there are any. Looks in $EVO_NVRTC, the
/// loader's path, $CUDA_HOME, /usr/local/cuda and Python's nvidia packages. Throws machine_error with where it looked
/// and how to install it.
std::unique_ptr<Compiler> make_nvrtc_compiler();

/// The compiler on a given NVRTC: a real one, or a table of fakes in tests.
std::unique_ptr<Compiler> make_compiler(Nvrtc nvrtc, std::vector<std::filesystem::path> header_folders = {});

}  // namespace evo

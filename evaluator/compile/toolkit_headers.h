#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/compile/nvrtc.h"

namespace evo {

/// Folders with the CUDA Toolkit's headers (cooperative_groups.h, cuda_fp16.h ...) and CCCL's (cub, cuda/barrier ...),
/// for `#include` in kernels that NVRTC compiles. They are those of the first toolkit that has them; the one that NVRTC
/// came with is tried first. Empty when there is none. `nvrtc_path` is Nvrtc::path.
std::vector<std::filesystem::path> toolkit_include_folders(const NvrtcEnvironment& environment,
                                                           const std::string& nvrtc_path);

/// The one of standard_headers() to be included before everything else. It defines what nvcc defines in every .cu file
/// through the host's headers (uint32_t, INFINITY, M_PI).
inline constexpr const char* kPreambleHeader = "evo_preamble.h";

/// A header given to NVRTC as text.
struct HeaderText {
  const char* name;
  const char* text;
};

/// Whether a source includes anything, or uses a name of the preamble that it does not define itself. Others compile as
/// they would without the toolkit.
bool needs_headers(std::string_view source);

/// The headers of the C and C++ library that kernels often include but NVRTC lacks: <cstdint>, <stdio.h>, <math.h> ...
/// The part of them that a kernel can use comes from NVRTC itself or from the toolkit's cuda/std.
std::span<const HeaderText> standard_headers();

}  // namespace evo

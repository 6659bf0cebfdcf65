#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "evaluator/compile/nvrtc.h"

namespace evo {

/// Folders with the CUDA Toolkit's headers (cooperative_groups.h, cuda_fp16.h ...) and CCCL's (cub, cuda/barrier ...),
/// for
/// `#include` in kernels that NVRTC compiles. They belong to the first toolkit that has them, the library's own first;
/// empty when there is none. `nvrtc_path` is Nvrtc::path.
std::vector<std::filesystem::path> toolkit_include_folders(const NvrtcEnvironment& environment,
                                                           const std::string& nvrtc_path);

/// The name of the header among standard_headers() that is to be included before everything else: what the host's
/// headers define in every .cu file that nvcc compiles (uint32_t, INFINITY, M_PI).
inline constexpr const char* kPreambleHeader = "evo_preamble.h";

/// A header given to NVRTC as text.
struct HeaderText {
  const char* name;
  const char* text;
};

/// The headers of the C and C++ library that kernels like to include although NVRTC has none of its own: <cstdint>,
/// <stdio.h>, <math.h> ... What a kernel can use of them comes from NVRTC itself or from the toolkit's cuda/std.
std::span<const HeaderText> standard_headers();

}  // namespace evo

#pragma once

#include <cstdint>
#include <string>

#include "evaluator/vgpu/machine/warp.h"

namespace evo::vgpu {

/// The zero-terminated string at a generic address in global memory; what can be read of it when it does not
/// end.
std::string string_at(const Warp& warp, std::uint64_t address);

/// What a device-side printf writes: `format` and `arguments` are generic addresses; arguments are naturally
/// aligned, at least 4 bytes each (CUDA C++ Programming Guide, "Formatted Output").
struct PrintedText {
  std::string text;
  std::uint32_t arguments = 0;  ///< How many it took: what printf returns.
};
PrintedText format_printf(const Warp& warp, int lane, std::uint64_t format, std::uint64_t arguments);

}  // namespace evo::vgpu

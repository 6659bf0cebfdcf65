#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/vgpu/conformance/recorded_case.h"

/// Products of a warpgroup (wgmma.mma_async, PTX ISA 9.0, 9.7.15) to record and to compare.
namespace evo::conformance {

/// The layout of a matrix in shared memory, as in a descriptor (9.7.15.5.1). Offsets in bytes.
struct SharedLayout {
  std::uint32_t start = 0;    ///< Within the image.
  std::uint32_t leading = 0;  ///< Leading dimension byte offset.
  std::uint32_t stride = 0;   ///< Stride dimension byte offset.
  std::uint32_t base = 0;     ///< Matrix base offset, 0 to 7.
  std::uint32_t swizzle = 0;  ///< 0: none, 1: 128 bytes, 2: 64, 3: 32.
};

struct Product {
  std::string d = "f32";  ///< f32, f16 or s32.
  std::string a = "e4m3";
  std::string b = "e4m3";
  int n = 8;
  bool a_in_registers = false;
  bool negate_a = false;
  bool negate_b = false;
  bool transpose_a = false;
  bool transpose_b = false;
  bool satfinite = false;
  bool sparse = false;
  int selector = 0;        ///< Of the sparsity metadata.
  bool accumulate = true;  ///< scale-d of the first step.
  int steps = 1;           ///< Products chained in one commit group.
  int tiles = 1;           ///< Different operands; step s takes tile s % tiles.

  /// "m64n8k32.f32.e4m3.e4m3.rs", followed by the fields that differ from their defaults.
  std::string name() const;
  int k() const;             ///< Summed elements of one step.
  int accumulators() const;  ///< 32-bit registers of D in each thread.
};

/// Random operands that probe how sums are computed, each record in another way. K-major, without swizzle.
std::vector<Case> numerics_cases();

/// One operand is the unit matrix, therefore D shows which elements of the other one the descriptor selects. Elements
/// of the image are f16 and all different.
std::vector<Case> layout_cases();

}  // namespace evo::conformance

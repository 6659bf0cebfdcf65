#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "evaluator/vgpu/numbers/tiles.h"

/// Matrix products with block scales (PTX ISA 9.0, 9.7.14.3). The sums follow Xie et al. 2025, arXiv 2511.10909, who
/// measured an RTX Blackwell; they are not checked on hardware here.
namespace evo::vgpu {

/// The codes of the scales: of each row of A and each column of B, for each block along k.
struct MmaScales {
  std::array<std::array<std::uint8_t, 4>, 16> a{};
  std::array<std::array<std::uint8_t, 4>, 8> b{};
};

/// The exponent of ue8m0, and what stands for its NaN.
constexpr std::uint8_t kScaleNan = 0xff;
constexpr std::int32_t exponent_of_scale(std::uint8_t code) {
  return code - 127;
}

/// Makes sums NaN whose row or column has a NaN among its first `blocks` scales.
void spread_nan_scales(TileSums& sums, const MmaScales& scales, int blocks, ScaleType type);

/// sums = A . B + sums for e2m1, eight in a word. Products of 16 neighbours along k are summed exactly. Each such sum
/// is multiplied with its scales exactly; its exponent is that of the scales. Those and the running sum are cut to 35
/// bits below the largest exponent, added, and the result is cut to f32.
void add_packed(TileSums& sums, std::span<const TileWord> a, std::span<const TileWord> b, const MmaScales& scales,
                int blocks, ScaleType type);

}  // namespace evo::vgpu

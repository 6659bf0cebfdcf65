#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "evaluator/vgpu/numbers/tiles.h"
#include "evaluator/vgpu/tcgen05/instruction_descriptor.h"

/// The arithmetic of tcgen05.mma, 16 rows of D at a time. It follows the document (PTX ISA 9.0, 9.7.16.10) and has not
/// been checked on hardware: sums are those of a tensor core with 25 fraction bits (tensor_core_sum.h); products with
/// scale factors are summed in f64 and rounded once.
namespace evo::vgpu {

/// Words along k of an operand's row: 32 bytes.
constexpr int kTensorWords = 8;
constexpr int kMostScales = 4;

using ScaleFactors = std::array<double, kMostScales>;

/// Sixteen rows of A, some columns of B, and the tiles of D that they change.
struct TensorTiles {
  std::span<const TileWord> a;            ///< kTensorWords.
  std::span<const TileWord> b;            ///< As many for each eight columns.
  std::span<TileSums> sums;               ///< One for each eight columns.
  std::span<const ScaleFactors> scale_a;  ///< Of each row, with block scaling.
  std::span<const ScaleFactors> scale_b;  ///< Of each column.
  int scales = 0;                         ///< Of each row or column.
  bool estimated = false;                 ///< Sums in the CPU's f32 are enough.
};
void multiply_tiles(const TensorShape& shape, const TensorTiles& tiles);

/// An operand's words as multiply_tiles() takes them: formats of 6 and 4 bits become e4m3, which has all their values,
/// unless two elements share a byte; negated elements change their signs. `compact`: sixteen elements of 6 or 4 bits
/// lie side by side at the begin of their 16 bytes, as in shared memory; else each has a byte.
void prepare_operand(const TensorShape& shape, TensorFormat format, bool negate, bool compact,
                     std::span<TileWord> words);

/// Sixteen elements of `bits` bits, side by side, into a byte each, as tcgen05.cp does: 6-bit elements into the low
/// bits, 4-bit ones into bits 2 to 5.
std::array<std::uint32_t, 4> spread_elements(std::array<std::uint32_t, 4> words, int bits);

/// The value of a scale factor's byte.
double scale_factor(std::uint8_t bits, bool ue8m0);

/// sum * 2^-shift, of f32 or f16.
std::uint32_t shifted_down(std::uint32_t sum, int shift, TensorFormat format);

}  // namespace evo::vgpu

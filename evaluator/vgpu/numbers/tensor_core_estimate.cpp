#include "evaluator/vgpu/numbers/tensor_core_estimate.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "evaluator/vgpu/numbers/cpu_clones.h"
#include "evaluator/vgpu/numbers/row_conversions.h"

namespace evo::vgpu {
namespace {

constexpr std::size_t kRows = 16, kColumns = 8, kMaxK = 32;

/// A column of A, a row of B (8 elements count) or a column of the sums.
typedef float Numbers __attribute__((vector_size(4 * kRows)));
typedef std::uint32_t Bits __attribute__((vector_size(4 * kRows)));

/// How elements of a type become f32: their magnitude moves to f32's place, and `scale` corrects the exponent.
struct Widening {
  int width = 32;  ///< Of an element.
  std::uint32_t magnitude = 0x7fffffff;
  int up = 0;
  float scale = 1;
  int sign = width - 1;  ///< The bit of the sign.
};

Widening widening_of(MmaType type) {
  switch (type) {
    case MmaType::e4m3:
      return {8, 0x7f, 20, 0x1p120f};
    case MmaType::e5m2:
      return {8, 0x7f, 21, 0x1p112f};
    case MmaType::e3m2:
      return {8, 0x1f, 21, 0x1p124f, 5};
    case MmaType::e2m3:
      return {8, 0x1f, 20, 0x1p126f, 5};
    case MmaType::e2m1:
      return {8, 0x1c, 20, 0x1p126f, 5};
    case MmaType::f16:
      return {16, 0x7fff, 13, 0x1p112f};
    case MmaType::bf16:
      return {16, 0x7fff, 16, 1};
    case MmaType::tf32:
      return {32, 0x7fffe000, 0, 1};
    default:
      return {};
  }
}

EVO_CPU_CLONES void widen(Numbers* to, const TileWord* words, std::size_t count, const BlockOperands& operands,
                          const Widening& how) {
  for (std::size_t i = 0; i < count; ++i) {
    const Bits word = *(const Bits*)words[i].row.data();
    for (int e = 0; e < operands.elements; ++e) {
      const Bits bits = word >> ((operands.first_element + e) * how.width);
      const Numbers magnitude = (Numbers)((bits & how.magnitude) << how.up) * how.scale;
      *to++ = (Numbers)((Bits)magnitude | (bits >> how.sign << 31));
    }
  }
}

EVO_CPU_CLONES void add_products(Numbers* columns, const Numbers* a, const Numbers* b, std::size_t k) {
  Numbers sums[kColumns];
  for (std::size_t j = 0; j < kColumns; ++j) sums[j] = columns[j];
  for (std::size_t i = 0; i < k; ++i)
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kColumns; ++j) sums[j] += a[i] * b[i][j];
  for (std::size_t j = 0; j < kColumns; ++j) columns[j] = sums[j];
}

// Two columns are one row of 32 lanes.
void widen_halves(TileSums& sums) {
  for (std::size_t j = 0; j < kColumns; j += 2) row::cvt_f32_f16(sums[j].row.data(), sums[j].row.data());
}
void round_to_halves(TileSums& sums) {
  for (std::size_t j = 0; j < kColumns; j += 2) row::cvt_f16_f32(sums[j].row.data(), sums[j].row.data());
}

/// Multiplies by the powers of two of a scale.
void scale(Numbers* numbers, std::size_t k, const std::int32_t* exponents, std::size_t rows) {
  if (exponents == nullptr) return;
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t row = 0; row < rows; ++row) numbers[i][row] = std::ldexp(numbers[i][row], exponents[row]);
}

}  // namespace

void estimate_block(std::span<TileSums> sums, const BlockOperands& operands, MmaType accumulator, std::size_t b_step) {
  Numbers a[kMaxK], b[kMaxK];
  const std::size_t words = operands.a.size();
  const Widening widening_of_b = widening_of(operands.type_b);
  const std::size_t k = words * static_cast<std::size_t>(operands.elements);
  widen(a, operands.a.data(), words, operands, widening_of(operands.type_a));
  scale(a, k, operands.scale_a, kRows);
  for (std::size_t tile = 0; tile < sums.size(); ++tile) {
    widen(b, operands.b.subspan(tile * b_step, words).data(), words, operands, widening_of_b);
    scale(b, k, operands.scale_b, kColumns);
    if (accumulator == MmaType::f16) widen_halves(sums[tile]);
    auto columns = std::bit_cast<std::array<Numbers, kColumns>>(sums[tile]);
    add_products(columns.data(), a, b, k);
    sums[tile] = std::bit_cast<TileSums>(columns);
    if (accumulator == MmaType::f16) round_to_halves(sums[tile]);
  }
}

}  // namespace evo::vgpu

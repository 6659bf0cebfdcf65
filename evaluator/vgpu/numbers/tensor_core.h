#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "evaluator/numbers/float_formats.h"

/// Warp-level matrix products, mma.sync (PTX ISA 9.0, 9.7.14.5), with the arithmetic of the hardware's tensor cores.
namespace evo::vgpu {

enum class MmaType { f16, bf16, tf32, e4m3, e5m2, f64, s8, u8, s4, u4, f32, s32, b1 };

inline bool is_fp8(MmaType type) {
  return type == MmaType::e4m3 || type == MmaType::e5m2;
}
inline bool is_int8(MmaType type) {
  return type == MmaType::s8 || type == MmaType::u8;
}
int width_of(MmaType type);  ///< Bits of an element in memory and registers: tf32 takes 32.

/// One form of mma.sync: D (m x n) = A (m x k) . B (k x n) + C.
struct MmaForm {
  int m = 16;
  int n = 8;
  int k = 16;
  MmaType a = MmaType::f16;
  MmaType b = MmaType::f16;
  MmaType accumulator = MmaType::f32;  ///< f32, f16, f64 or s32: what sums are, and C and D unless they are halves.
  bool saturate = false;               ///< .satfinite: integer overflow saturates.
  bool sparse = false;                 ///< mma.sp: A holds half of k, metadata says which.
  int selector = 0;                    ///< Which threads hold the metadata.
  bool half_c = false;                 ///< C is f16 where the accumulator is f32.
  bool half_d = false;                 ///< D likewise: rounded to nearest at the end.
  bool exclusive_or = false;           ///< Of b1: bits that differ are counted, not those that both have.
  Rounding rounding = Rounding::rn;    ///< Of f64.
  bool a_by_columns = false;           ///< Layouts, which only m8n8k4 of f16 can choose.
  bool b_by_rows = false;
  bool by_fours = false;  ///< tf32: k goes through in instructions of four, as ptxas makes wmma.

  /// m8n8k4 of f16 is four products, one for each quad pair: lanes 4 i to 4 i + 3 and 16 + 4 i to 16 + 4 i + 3.
  bool of_quad_pairs() const { return m == 8 && a == MmaType::f16; }
};

/// How many 32-bit registers (64-bit for f64) each thread holds of each matrix.
struct MmaRegisters {
  int a = 0;
  int b = 0;
  int c = 0;
  int d = 0;
};

/// False for a form that mma.sync does not have or that is not modelled; `why`, when given, then says which.
/// Covered: f16 m8n8k4, m16n8k8/k16 (f16 or f32 accumulator), bf16 m16n8k8/k16, tf32 m16n8k4/k8, e4m3/e5m2 in any mix
/// m16n8k16/k32 (f32 or f16), f64 m8n8k4 and m16n8k4/k8/k16, s8/u8 in any mix m8n8k16 and m16n8k16/k32,
/// s4/u4 in any mix m8n8k32 and m16n8k32/k64, b1 m8n8k128 and m16n8k128/k256. Sparse, with twice the k: f16, bf16
/// k16/k32, tf32 k8/k16, e4m3/e5m2 k64, s8/u8 k32/k64, s4/u4 k64/k128.
bool mma_supported(const MmaForm& form, std::string* why = nullptr);
MmaRegisters mma_registers(const MmaForm& form);

/// How a tensor core sums products in floating point. It takes `block_k` exact products and the running sum, aligns all
/// to the largest exponent among them (a product's is the sum of its factors' exponents; subnormals count as the
/// lowest exponent), cuts each to `fraction_bits` bits below that exponent, adds exactly and normalises. An f32 result
/// is cut to `result_fraction_bits`, an f16 result rounded to nearest even. A form with a larger k chains blocks in
/// ascending k. Fasi et al. 2021, "Numerical behavior of NVIDIA tensor cores"; Xie et al. 2025, arXiv 2511.10909.
struct SumRule {
  int block_k = 16;
  int fraction_bits = 25;         ///< At most 25.
  int result_fraction_bits = 23;  ///< Of an f32 result.
  bool estimated = false;         ///< In f32 as the CPU does it, without any of this (tensor_core_estimate.h).
};

struct TensorCoreNumerics {
  SumRule half;  ///< f16 and bf16 operands.
  SumRule tf32;
  SumRule fp8;  ///< e4m3 and e5m2 operands, where the tensor core multiplies them itself.
  /// Hopper's mma.sync: operands are widened to f16. The first product of two instructions takes of each four
  /// neighbours in k the first two, the second the last two; their sum starts at zero and C is added to it with an
  /// ordinary addition.
  bool fp8_through_f16 = true;
};

/// For a compute capability times ten. 90 equals an H200 on every record of tests/data/numerics; 80 to 89 are the
/// literature's. Others get those of the nearest older one.
TensorCoreNumerics tensor_core_numerics(int sm);
/// The same with estimated sums.
TensorCoreNumerics estimated(TensorCoreNumerics numerics);

/// Rows of 32 lanes, one for each register of the fragment, in PTX's register order. Rows of f64 matrices are 64 words
/// long: a lane's low word, then its high word.
struct MmaOperands {
  std::array<const std::uint32_t*, 8> a{};
  std::array<const std::uint32_t*, 8> b{};
  std::array<const std::uint32_t*, 8> c{};
  std::array<std::uint32_t*, 8> d{};        ///< May be the rows of c, a or b.
  const std::uint32_t* metadata = nullptr;  ///< Of sparse forms.
};

/// All 32 lanes take part, as PTX demands. The form must be supported.
void mma_sync(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands);

}  // namespace evo::vgpu

#pragma once

#include <array>
#include <cstdint>

#include "evaluator/vgpu/numbers/block_scaled_sum.h"
#include "evaluator/vgpu/numbers/mma_form.h"
#include "evaluator/vgpu/numbers/tensor_core_sum.h"

/// Warp-level matrix products, mma.sync (PTX ISA 9.0, 9.7.14.5), with the arithmetic of the hardware's tensor cores.
namespace evo::vgpu {

struct TensorCoreNumerics {
  SumRule half;  ///< f16 and bf16 operands.
  SumRule tf32;
  SumRule fp8;  ///< e4m3 and e5m2 operands, where the tensor core multiplies them directly.
  /// Hopper's mma.sync widens e4m3 and e5m2 operands to f16 and multiplies twice: once the first two of each four
  /// neighbours in k, once the last two. The sum starts at zero, and an ordinary addition adds C at the end.
  bool fp8_through_f16 = true;
};

/// `sm` is the compute capability times ten. 90 equals an H200 on every record of tests/data/numerics; the others
/// follow the literature (Xie et al. 2025, arXiv 2511.10909), and 75 has the products of depth 8 that 80 makes the
/// others of.
TensorCoreNumerics tensor_core_numerics(int sm);
/// The same numerics with estimated sums.
TensorCoreNumerics estimated(TensorCoreNumerics numerics);

/// The operands as rows of 32 lanes, one row for each register of the fragment, in PTX's register order. Rows of f64
/// matrices are 64 words long: each lane's low word, then its high word.
struct MmaOperands {
  std::array<const std::uint32_t*, 8> a{};
  std::array<const std::uint32_t*, 8> b{};
  std::array<const std::uint32_t*, 8> c{};
  std::array<std::uint32_t*, 8> d{};        ///< May be the rows of c, a or b.
  const std::uint32_t* metadata = nullptr;  ///< Sparse forms only.
  const MmaScales* scales = nullptr;        ///< Forms with scale_blocks only.
};

/// D = A . B + C. All 32 lanes take part, as PTX demands. The form must be supported.
void mma_sync(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands);

}  // namespace evo::vgpu

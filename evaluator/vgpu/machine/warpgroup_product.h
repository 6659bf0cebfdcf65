#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "evaluator/vgpu/numbers/tensor_core.h"
#include "evaluator/vgpu/numbers/tensor_core_sum.h"

/// Products of a warpgroup, wgmma.mma_async (PTX ISA 9.0, 9.7.15): D (64 x n) = A (64 x k) . B (k x n) + D.
namespace evo::vgpu {

constexpr int kWarpgroupWarps = 4;
constexpr int kWarpgroupRows = 64;
constexpr int kMaxWarpgroupColumns = 256;
constexpr int kProductWords =
    8;  ///< Words along k of a row of A: 32 bytes in every form. Sparse forms leave zeros out.

struct WarpgroupForm {
  int n = 8;
  int k = 32;
  MmaType a = MmaType::e4m3;
  MmaType b = MmaType::e4m3;
  MmaType accumulator = MmaType::f32;  ///< f32, f16 or s32.
  bool saturate = false;
  bool sparse = false;
  int selector = 0;     ///< Which threads hold the sparsity metadata.
  bool negate = false;  ///< One of A and B, but not both, has scale -1.
  bool transpose_a = false;
  bool transpose_b = false;
};

/// False for a form that wgmma does not have; `why`, when given, then says which.
bool warpgroup_supported(const WarpgroupForm& form, std::string* why = nullptr);
/// 32-bit registers of D that each thread holds.
int accumulator_registers(const WarpgroupForm& form);

/// What one warp contributes: 16 rows of A and D, all columns of B.
struct WarpShare {
  std::span<const TileWord> a;                   ///< kProductWords words.
  std::span<const TileWord> b;                   ///< For each 8 columns kProductWords words, twice as many when sparse.
  const std::uint32_t* metadata = nullptr;       ///< Sparse: a row of 32 lanes.
  std::uint32_t* const* accumulators = nullptr;  ///< Rows of 32 lanes in PTX's order, updated in place.
  bool accumulate = true;                        ///< Else D = A . B.
};

void warpgroup_product(const WarpgroupForm& form, const TensorCoreNumerics& numerics, const WarpShare& share);

}  // namespace evo::vgpu

#pragma once

#include <cstdint>

namespace evo {

/// The limits of one device. The rules of its compute capability are in launch_rules.h. Families' expressions read
/// these as facts: sm, smem_per_block, smem_per_sm, registers_per_sm, threads_per_block, sm_count, wgmma.
struct DeviceLimits {
  int sm = 0;                             ///< Compute capability times ten: 89, 90.
  std::int64_t smem_per_block_bytes = 0;  ///< Opt-in maximum.
  std::int64_t smem_per_sm_bytes = 0;
  std::int64_t registers_per_sm = 0;
  int threads_per_block = 1024;
  int sm_count = 0;
  bool wgmma = false;  ///< Runs wgmma, mbarrier and tensor-map copies: Hopper GPUs, real and virtual.
};

}  // namespace evo

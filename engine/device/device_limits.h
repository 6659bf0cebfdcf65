#pragma once

#include <cstdint>

namespace evo {

/// The limits of one device. The rules of its compute capability are in launch_rules.h, what it can do in abilities.h.
/// Families' expressions read all of these as facts (facts_of).
struct DeviceLimits {
  int sm = 0;                             ///< Compute capability times ten: 89, 90.
  std::int64_t smem_per_block_bytes = 0;  ///< Opt-in maximum.
  std::int64_t smem_per_sm_bytes = 0;
  std::int64_t registers_per_sm = 0;
  int threads_per_block = 1024;
  int sm_count = 0;
};

}  // namespace evo

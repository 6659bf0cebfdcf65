#include "engine/device/abilities.h"

#include <array>

namespace evo {
namespace {

template <int first>
constexpr bool from(int sm) {
  return sm >= first;
}

/// Of architecture-specific instructions (targets such as sm_90a), which newer GPUs do not keep.
template <int... capabilities>
constexpr bool only(int sm) {
  return ((sm == capabilities) || ...);
}

constexpr std::array kAbilities = {
    Ability{"cp_async", "copies to shared memory beside the threads (`cp.async`)", from<80>},
    Ability{"l2_hints", "hints for L2 (`L2::256B`, `L2::cache_hint`)", from<80>},
    Ability{"bf16_mma", "conversions to bf16 and its `mma.sync`", from<80>},
    Ability{"mma_k16", "`mma.sync` of f16 of depth 16; without it, depth 8", from<80>},
    Ability{"fp8_convert", "conversions of e4m3 and e5m2", from<89>},
    Ability{"fp8_mma", "`mma.sync` of e4m3 and e5m2", from<89>},
    Ability{"fp8_mma_widened", "`mma.sync` of e4m3 becomes conversions and f16 products", only<90, 100, 103, 110>},
    Ability{"mbarrier", "barriers in shared memory that count bytes and wait (`mbarrier.try_wait`)", from<90>},
    Ability{"tma", "bulk and tensor-map copies (`cp.async.bulk`)", from<90>},
    Ability{"clusters", "clusters of blocks", from<90>},
    Ability{"dsmem", "shared memory of the cluster's other blocks", from<90>},
    Ability{"dependent_launch", "programmatic dependent launch (`griddepcontrol`)", from<90>},
    Ability{"wgmma", "products of a warpgroup (`wgmma`)", only<90>},
    Ability{"tcgen05", "products in tensor memory (`tcgen05`)", only<100, 103, 110>},
    Ability{"block_scaled_mma", "`mma.sync` with block scales", only<120, 121>},
};

}  // namespace

std::span<const Ability> abilities() {
  return kAbilities;
}

}  // namespace evo

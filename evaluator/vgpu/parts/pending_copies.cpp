#include "evaluator/vgpu/parts/pending_copies.h"

#include <cstring>

#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/observer.h"

namespace evo::vgpu {

void land_committed_copies(Warp& warp, std::uint32_t lanes, std::int64_t stay) {
  std::byte* shared = warp.block->shared.data();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < warp.copies.size(); ++i) {
    PendingCopy& copy = warp.copies[i];
    for (const std::size_t lane : lanes_of(copy.lanes & lanes)) {
      if (std::int64_t{copy.group} >= std::int64_t{warp.committed_groups[lane]} - stay) continue;
      std::memcpy(shared + copy.target[lane], copy.data[lane].data(), copy.bytes);
      if (warp.launch->observer != nullptr) warp.launch->observer->end_copy(warp, copy, static_cast<int>(lane));
      copy.lanes &= ~(1u << lane);
    }
    if (copy.lanes == 0) continue;
    if (kept != i) warp.copies[kept] = copy;
    ++kept;
  }
  warp.copies.resize(kept);
}

void land_copies(Warp& warp, std::uint32_t lanes) {
  land_committed_copies(warp, lanes, -1);  // The group that is being filled has the number of the next commit.
}

}  // namespace evo::vgpu

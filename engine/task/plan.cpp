#include "engine/task/plan.h"

#include <bit>

namespace evo {

std::string why_malformed(const TensorMap& map) {
  if (map.dims.empty() || map.dims.size() > 5) return "has 0 or more than 5 dims";
  if (map.strides_bytes.size() + 1 != map.dims.size()) return "needs one stride fewer than dims";
  if (map.box.size() != map.dims.size()) return "needs one box size for each dim";
  const std::uint32_t swizzle = map.swizzle_bytes;
  const bool known = swizzle == 0 || (swizzle >= 32 && swizzle <= 128 && std::has_single_bit(swizzle));
  return known ? "" : "has a swizzle other than 0, 32, 64 or 128 bytes";
}

}  // namespace evo

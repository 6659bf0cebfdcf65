#include "evaluator/vgpu/numbers/tensor_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "engine/record/enumerators.h"

namespace evo::vgpu {
namespace {

std::uint32_t swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << static_cast<std::uint32_t>(swizzle);
}

}  // namespace

std::uint32_t bytes_of(TensorElement element) {
  static constexpr std::array<std::uint8_t, kEnumerators<TensorElement>> kBytes = {1, 2, 4, 4, 8, 8, 2,
                                                                                   4, 4, 8, 2, 4, 4};
  const auto number = static_cast<std::size_t>(element);
  return number < kBytes.size() ? kBytes[number] : 0;
}

std::uint32_t TensorMapObject::box_bytes() const {
  std::uint32_t bytes = row_bytes();
  for (std::size_t i = 1; i < rank; ++i) bytes *= steps(i);
  return bytes;
}

std::uint32_t TensorMapObject::pitch_bytes() const {
  return std::max(row_bytes(), swizzle_bytes(swizzle));
}

std::string why_refused(const TensorMapObject& map) {
  if (map.magic != TensorMapObject::kMagic) return "these 128 bytes are no tensor map";
  if (map.rank < 1 || map.rank > kMaxTensorRank) return fmt::format("a rank of {}", map.rank);
  if (bytes_of(map.element) == 0) return "an unknown element type";
  if (map.address % 16 != 0) return fmt::format("the address {:#x} is not aligned to 16 bytes", map.address);
  for (std::size_t i = 0; i < map.rank; ++i) {
    if (map.box[i] == 0 || map.box[i] > 256) return fmt::format("a box of {} elements in dimension {}", map.box[i], i);
    if (map.element_stride[i] < 1 || map.element_stride[i] > 8)
      return fmt::format("a traversal stride of {} in dimension {}", map.element_stride[i], i);
    if (i == 0) continue;
    const std::uint64_t stride = map.stride_bytes[i - 1];
    if (stride % 16 != 0 || stride >= 1ull << 40)
      return fmt::format("a stride of {} bytes in dimension {}: no multiple of 16 below 2^40", stride, i);
  }
  if (map.row_bytes() % 16 != 0)
    return fmt::format("a box whose rows have {} bytes: no multiple of 16", map.row_bytes());
  if (map.swizzle > Swizzle::b128) return "an unknown swizzle";
  if (map.swizzle != Swizzle::none && map.row_bytes() > swizzle_bytes(map.swizzle)) {
    return fmt::format("a box whose rows have {} bytes, more than its swizzle of {} bytes", map.row_bytes(),
                       swizzle_bytes(map.swizzle));
  }
  return {};
}

TensorMapObject tensor_map_of(const TensorMap& planned, std::uint64_t address, std::string& refused) {
  TensorMapObject map;
  refused = why_malformed(planned);
  if (!refused.empty()) return map;
  const std::size_t rank = planned.dims.size();
  map.swizzle = static_cast<Swizzle>(std::bit_width(planned.swizzle_bytes / 32));
  map.address = address;
  map.rank = static_cast<std::uint8_t>(rank);
  map.element = tensor_element_of(planned.dtype);
  for (std::size_t i = 0; i < rank; ++i) {
    if (planned.dims[i] < 1 || planned.dims[i] > 1ull << 32) {
      refused = fmt::format("has {} elements in dimension {}", planned.dims[i], i);
      return map;
    }
    map.last[i] = static_cast<std::uint32_t>(planned.dims[i] - 1);
    map.box[i] = static_cast<std::uint16_t>(planned.box[i] > 256 ? 0xffff : planned.box[i]);
    map.element_stride[i] = 1;
    if (i > 0) map.stride_bytes[i - 1] = planned.strides_bytes[i - 1];
  }
  if (const std::string why = why_refused(map); !why.empty()) refused = "has " + why;
  return map;
}

}  // namespace evo::vgpu

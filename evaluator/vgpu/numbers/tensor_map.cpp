#include "evaluator/vgpu/numbers/tensor_map.h"

#include <fmt/core.h>

#include <algorithm>

namespace evo::vgpu {
namespace {

std::uint32_t swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << static_cast<std::uint32_t>(swizzle);
}

}  // namespace

std::uint32_t bytes_of(TensorElement element) {
  switch (element) {
    case TensorElement::u8:
      return 1;
    case TensorElement::u16:
    case TensorElement::f16:
    case TensorElement::bf16:
      return 2;
    case TensorElement::u32:
    case TensorElement::s32:
    case TensorElement::f32:
    case TensorElement::f32_ftz:
    case TensorElement::tf32:
    case TensorElement::tf32_ftz:
      return 4;
    case TensorElement::u64:
    case TensorElement::s64:
    case TensorElement::f64:
      return 8;
  }
  return 0;
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
  refused.clear();
  const std::size_t rank = planned.dims.size();
  if (rank < 1 || rank > kMaxTensorRank) {
    refused = "has 0 or more than 5 dims";
  } else if (planned.strides_bytes.size() + 1 != rank) {
    refused = "needs one stride fewer than dims";
  } else if (planned.box.size() != rank) {
    refused = "needs one box size for each dim";
  }
  switch (planned.swizzle_bytes) {
    case 0:
      break;
    case 32:
      map.swizzle = Swizzle::b32;
      break;
    case 64:
      map.swizzle = Swizzle::b64;
      break;
    case 128:
      map.swizzle = Swizzle::b128;
      break;
    default:
      refused = "has a swizzle other than 0, 32, 64 or 128 bytes";
  }
  if (!refused.empty()) return map;
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

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/device/tensor_element.h"
#include "engine/task/plan.h"

/// Tensor maps (PTX ISA 9.0, 5.5.8; CUDA driver API, cuTensorMapEncodeTiled): what the 128 opaque bytes hold on the
/// virtual GPU. Those of a real driver are laid out otherwise and are not read here.
namespace evo::vgpu {

inline constexpr std::uint32_t kTensorMapBytes = 128;
inline constexpr std::size_t kMaxTensorRank = 5;

/// 0 for a number that is none.
std::uint32_t bytes_of(TensorElement element);

/// As tensormap.replace.swizzle_mode numbers them.
enum class Swizzle : std::uint8_t { none, b32, b64, b128 };
/// Where a byte of shared memory lies: 16-byte chunks trade places within 256, 512 or 1024 bytes.
constexpr std::uint32_t swizzled(Swizzle swizzle, std::uint32_t address) {
  const std::uint32_t chunks = (1u << static_cast<std::uint32_t>(swizzle)) - 1;  // 0, 1, 3 or 7
  return address ^ (address >> 7 & chunks) << 4;
}

/// Innermost dimension first; strides and sizes beyond the rank are unused.
struct TensorMapObject {
  std::uint64_t magic = kMagic;
  std::uint64_t address = 0;
  std::array<std::uint64_t, kMaxTensorRank - 1> stride_bytes{};  ///< Of dimensions 1 and up.
  std::array<std::uint32_t, kMaxTensorRank> last{};              ///< Extent of each dimension minus one.
  std::array<std::uint16_t, kMaxTensorRank> box{};               ///< Elements.
  std::array<std::uint8_t, kMaxTensorRank> element_stride{};     ///< Traversal steps; the innermost is ignored.
  std::uint8_t rank = 0;
  TensorElement element = TensorElement::u8;
  Swizzle swizzle = Swizzle::none;
  std::uint8_t fills_with_nan = 0;
  std::array<std::uint8_t, 41> unused{};

  static constexpr std::uint64_t kMagic = 0x70616d2d75706776;  // "vgpu-map"

  std::uint64_t extent(std::size_t dimension) const { return std::uint64_t{last[dimension]} + 1; }
  /// Elements that a copy moves along a dimension.
  std::uint32_t steps(std::size_t dimension) const {
    const std::uint32_t step = dimension == 0 ? 1u : element_stride[dimension];
    return (box[dimension] + step - 1) / step;
  }
  std::uint32_t row_bytes() const { return box[0] * bytes_of(element); }
  /// Of a whole box, as an mbarrier counts them.
  std::uint32_t box_bytes() const;
  /// From one row to the next in shared memory. Rows narrower than the swizzle are one swizzle width apart.
  std::uint32_t pitch_bytes() const;
  /// Of shared memory, from the box's first byte to its last one.
  std::uint32_t room_bytes() const { return box_bytes() / row_bytes() * pitch_bytes() - (pitch_bytes() - row_bytes()); }
};
static_assert(sizeof(TensorMapObject) == kTensorMapBytes);

/// The fault of a map, in the words of the driver's requirements; empty if it has none.
std::string why_refused(const TensorMapObject& map);

/// The map of a plan over a buffer at `address`. `refused` says why the driver would not encode it.
TensorMapObject tensor_map_of(const TensorMap& planned, std::uint64_t address, std::string& refused);

}  // namespace evo::vgpu

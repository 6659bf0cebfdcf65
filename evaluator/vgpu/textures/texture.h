#pragma once

#include <array>
#include <cstdint>

/// What texture and surface objects describe (CUDA C++ Programming Guide, "Texture and Surface Memory"; PTX ISA 9.0,
/// 5.3).
namespace evo::vgpu {

enum class ChannelKind : std::uint8_t { signed_integer, unsigned_integer, floating };

struct TexelFormat {
  ChannelKind kind = ChannelKind::floating;
  std::uint8_t channels = 1;  ///< 1, 2 or 4.
  std::uint8_t bits = 32;     ///< Of a channel: 8, 16 or 32.

  std::uint32_t bytes() const { return std::uint32_t{channels} * bits / 8; }
};

/// Texels in global memory: a CUDA array, or memory that the program shows as one.
struct Texels {
  std::uint64_t address = 0;
  TexelFormat format;
  std::uint8_t dimensions = 1;
  bool layered = false;
  bool cube = false;                           ///< Six layers, or as many times six, are the faces of cubes.
  bool in_array = true;                        ///< False: linear memory.
  std::array<std::uint32_t, 3> size{1, 1, 1};  ///< In texels.
  std::uint32_t layers = 1;
  std::uint64_t pitch = 0;  ///< Bytes from one row to the next,
  std::uint64_t slice = 0;  ///< and from one slice or layer.

  std::uint64_t row_bytes() const { return std::uint64_t{size[0]} * format.bytes(); }
};

/// In the order of cudaTextureAddressMode.
enum class TexelAddressing : std::uint8_t { wrap, clamp, mirror, border };

struct Texture {
  Texels texels;
  std::array<TexelAddressing, 3> addressing{TexelAddressing::clamp, TexelAddressing::clamp, TexelAddressing::clamp};
  bool filters = false;     ///< Linearly; else it takes the nearest texel.
  bool normalized = false;  ///< Coordinates go from 0 to 1.
  bool promotes = false;    ///< Integers of 8 and 16 bits are read as fractions of their largest.
  std::array<float, 4> border{};

  /// Of linear memory by its elements: neither filtered nor addressed, zero outside.
  void see_as_list() {
    addressing.fill(TexelAddressing::border);
    filters = normalized = false;
    border.fill(0);
  }
  bool promotes_channels() const {
    return promotes && texels.format.kind != ChannelKind::floating && texels.format.bits < 32;
  }
  /// Whether a fetch gives floats, which alone can be filtered.
  bool gives_floats() const { return texels.format.kind == ChannelKind::floating || promotes_channels(); }
};

}  // namespace evo::vgpu

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "evaluator/vgpu/textures/texture.h"

/// Which texels a fetch reads, and what it makes of them (CUDA C++ Programming Guide, "Texture Fetching"). From the
/// document, not checked on hardware.
namespace evo::vgpu {

/// One texel of a fetch.
struct Tap {
  std::array<std::uint32_t, 3> at{};
  bool border = false;  ///< Outside: it has the border's colour.
  double weight = 1;
};

struct Footprint {
  std::array<Tap, 8> taps{};
  std::size_t count = 0;
  std::uint32_t layer = 0;

  const Tap* begin() const { return taps.data(); }
  const Tap* end() const { return taps.data() + count; }
};

/// Where a fetch looks: coordinates as the instruction gives them, and the offsets that it adds in texels.
struct Coordinates {
  std::array<double, 3> at{};
  std::array<std::int32_t, 3> offset{};
  std::uint32_t layer = 0;  ///< Of a layered texture; of several cubes, which.
};

/// Turns a direction into a layer and coordinates from 0 to 1 in that face. Equal magnitudes prefer z to y to x.
Coordinates on_face(const std::array<float, 3>& direction, std::uint32_t cube);

/// The texels of a fetch by float coordinates. Weights are multiples of 1/256, rounded to the nearest; texels without
/// weight are left out. A layer beyond the last one is the last one.
Footprint sampled(const Texture& texture, const Coordinates& where);
/// The texel of a fetch by integer coordinates, which is not filtered.
Footprint indexed(const Texture& texture, const Coordinates& where);
/// The four texels that linear filtering would read, from the lower left counter-clockwise.
Footprint gathered(const Texture& texture, const Coordinates& where);

std::uint64_t address_of(const Texels& texels, const Tap& tap, std::uint32_t layer);

/// The four channels, as registers hold them: floats, or integers extended to 32 bits. Missing ones are 0.
using Texel = std::array<std::uint32_t, 4>;
Texel read_texel(const Texture& texture, const std::byte* from);
Texel border_texel(const Texture& texture);
/// The sum of `texels`, as the footprint weights them. A single texel stays as it is.
Texel weighted(const Texture& texture, const Footprint& footprint, const std::array<Texel, 8>& texels);

/// A formatted store: channels as registers hold them become a texel. Integers too large are clamped. Channels beyond
/// `count` get `missing`.
void write_texel(const TexelFormat& format, const Texel& channels, std::size_t count, std::byte missing, std::byte* to);

}  // namespace evo::vgpu

#include "evaluator/vgpu/textures/texture_sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "evaluator/numbers/float_formats.h"

namespace evo::vgpu {
namespace {

constexpr std::int64_t kWeightSteps = 256;
constexpr double kFarthest = 1e12;  ///< Coordinates beyond lead nowhere else.

/// A NaN is 0.
std::int64_t floor_of(double x) {
  if (x != x) return 0;
  return static_cast<std::int64_t>(std::floor(std::clamp(x, -kFarthest, kFarthest)));
}

/// The texel in one dimension that index `i` stands for; negative: the border.
std::int64_t addressed(std::int64_t i, std::int64_t size, TexelAddressing addressing) {
  const auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  switch (addressing) {
    case TexelAddressing::wrap:
      return modulo(i, size);
    case TexelAddressing::mirror:
      return std::min(modulo(i, 2 * size), 2 * size - 1 - modulo(i, 2 * size));
    case TexelAddressing::clamp:
      return std::clamp<std::int64_t>(i, 0, size - 1);
    case TexelAddressing::border:
      break;
  }
  return i < size ? i : -1;
}

TexelAddressing addressing_of(const Texture& texture, std::size_t dimension) {
  // Cubes are filtered within a face. Wrapping and mirroring need normalized coordinates.
  if (texture.texels.cube) return TexelAddressing::clamp;
  const TexelAddressing asked = texture.addressing[dimension];
  return texture.normalized || asked == TexelAddressing::border ? asked : TexelAddressing::clamp;
}

Tap tap_at(const Texture& texture, const std::array<std::int64_t, 3>& index, double weight) {
  Tap tap;
  tap.weight = weight;
  for (std::size_t d = 0; d < texture.texels.dimensions; ++d) {
    const std::int64_t i = addressed(index[d], texture.texels.size[d], addressing_of(texture, d));
    tap.border |= i < 0;
    tap.at[d] = static_cast<std::uint32_t>(std::max<std::int64_t>(i, 0));
  }
  return tap;
}

Footprint begin_footprint(const Texture& texture, const Coordinates& where) {
  Footprint footprint;
  footprint.layer = std::min(where.layer, texture.texels.layers - 1);
  return footprint;
}

void add(Footprint& footprint, const Tap& tap) {
  footprint.taps[footprint.count++] = tap;
}

/// In texels.
double position(const Texture& texture, const Coordinates& where, std::size_t dimension) {
  const double x = where.at[dimension];
  return texture.normalized || texture.texels.cube ? x * texture.texels.size[dimension] : x;
}

/// The lower texel of a linear fetch in one dimension, and the weight of the upper one in 256ths.
struct Between {
  std::int64_t lower = 0;
  std::int64_t weight = 0;
};
Between between(const Texture& texture, const Coordinates& where, std::size_t dimension) {
  const std::int64_t fixed =
      floor_of((position(texture, where, dimension) - 0.5) * static_cast<double>(kWeightSteps) + 0.5);
  const std::int64_t lower = (fixed >= 0 ? fixed : fixed - (kWeightSteps - 1)) / kWeightSteps;
  return {lower + where.offset[dimension], fixed - lower * kWeightSteps};
}

float fraction(std::uint32_t channel, const TexelFormat& format) {
  const auto largest =
      static_cast<float>((1u << (format.bits - (format.kind == ChannelKind::signed_integer ? 1 : 0))) - 1);
  if (format.kind == ChannelKind::unsigned_integer) return static_cast<float>(channel) / largest;
  return std::max(static_cast<float>(static_cast<std::int32_t>(channel)) / largest, -1.0f);
}

std::uint32_t channel_at(const TexelFormat& format, const std::byte* from) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, format.bits / 8);
  if (format.kind == ChannelKind::signed_integer && format.bits < 32) {
    const std::uint32_t sign = 1u << (format.bits - 1);
    bits = (bits ^ sign) - sign;
  }
  if (format.kind == ChannelKind::floating && format.bits == 16)
    bits = std::bit_cast<std::uint32_t>(f32_from_f16(static_cast<std::uint16_t>(bits)));
  return bits;
}

}  // namespace

Coordinates on_face(const std::array<float, 3>& direction, std::uint32_t cube) {
  const auto [x, y, z] = direction;
  const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  const bool along_z = az >= ax && az >= ay, along_y = !along_z && ay >= ax;
  const float major = along_z ? z : along_y ? y : x;
  const bool negative = major < 0;
  const double s = along_z ? (negative ? -x : x) : along_y ? x : (negative ? z : -z);
  const double t = along_y ? (negative ? -z : z) : -y;
  const double m = std::abs(major);
  const std::uint32_t axis = along_z ? 2 : along_y ? 1 : 0;
  Coordinates where;
  where.layer = 6 * cube + 2 * axis + (negative ? 1 : 0);
  where.at = {(s / m + 1) / 2, (t / m + 1) / 2, 0};
  return where;
}

Footprint indexed(const Texture& texture, const Coordinates& where) {
  Texture unfiltered = texture;
  unfiltered.normalized = false;
  std::array<std::int64_t, 3> index{};
  for (std::size_t d = 0; d < texture.texels.dimensions; ++d) index[d] = floor_of(where.at[d]) + where.offset[d];
  Footprint footprint = begin_footprint(texture, where);
  add(footprint, tap_at(unfiltered, index, 1));
  return footprint;
}

Footprint sampled(const Texture& texture, const Coordinates& where) {
  Footprint footprint = begin_footprint(texture, where);
  const std::size_t dimensions = texture.texels.dimensions;
  std::array<std::int64_t, 3> index{};
  if (!texture.filters) {
    for (std::size_t d = 0; d < dimensions; ++d) index[d] = floor_of(position(texture, where, d)) + where.offset[d];
    add(footprint, tap_at(texture, index, 1));
    return footprint;
  }
  std::array<Between, 3> along{};
  for (std::size_t d = 0; d < dimensions; ++d) along[d] = between(texture, where, d);
  for (std::uint32_t corner = 0; corner < 1u << dimensions; ++corner) {
    std::int64_t weight = 1, whole = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const bool upper = (corner >> d & 1u) != 0;
      index[d] = along[d].lower + (upper ? 1 : 0);
      weight *= upper ? along[d].weight : kWeightSteps - along[d].weight;
      whole *= kWeightSteps;
    }
    if (weight > 0) add(footprint, tap_at(texture, index, static_cast<double>(weight) / static_cast<double>(whole)));
  }
  return footprint;
}

Footprint gathered(const Texture& texture, const Coordinates& where) {
  Footprint footprint = begin_footprint(texture, where);
  const std::int64_t i = between(texture, where, 0).lower, j = between(texture, where, 1).lower;
  for (const auto& [right, down] : {std::array{0, 1}, {1, 1}, {1, 0}, {0, 0}})
    add(footprint, tap_at(texture, {i + right, j + down, 0}, 1));
  return footprint;
}

std::uint64_t address_of(const Texels& texels, const Tap& tap, std::uint32_t layer) {
  return texels.address + std::uint64_t{tap.at[0]} * texels.format.bytes() + tap.at[1] * texels.pitch +
         (std::uint64_t{tap.at[2]} + layer) * texels.slice;
}

Texel read_texel(const Texture& texture, const std::byte* from) {
  const TexelFormat& format = texture.texels.format;
  Texel texel{};
  for (std::size_t c = 0; c < format.channels; ++c) {
    texel[c] = channel_at(format, from + c * format.bits / 8);
    if (texture.promotes_channels()) texel[c] = std::bit_cast<std::uint32_t>(fraction(texel[c], format));
  }
  return texel;
}

Texel border_texel(const Texture& texture) {
  Texel texel{};
  for (std::size_t c = 0; c < texture.texels.format.channels; ++c) {
    const float colour = texture.border[c];
    texel[c] =
        texture.gives_floats() ? std::bit_cast<std::uint32_t>(colour) : static_cast<std::uint32_t>(floor_of(colour));
  }
  return texel;
}

Texel weighted(const Texture& texture, const Footprint& footprint, const std::array<Texel, 8>& texels) {
  if (footprint.count == 1) return texels[0];
  Texel sum{};
  for (std::size_t c = 0; c < texture.texels.format.channels; ++c) {
    double value = 0;
    for (std::size_t i = 0; i < footprint.count; ++i)
      value += footprint.taps[i].weight * static_cast<double>(std::bit_cast<float>(texels[i][c]));
    sum[c] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  return sum;
}

void write_texel(const TexelFormat& format, const Texel& channels, std::size_t count, std::byte missing,
                 std::byte* to) {
  std::memset(to, std::to_integer<int>(missing), format.bytes());
  const std::size_t bytes = format.bits / 8;
  for (std::size_t c = 0; c < std::min<std::size_t>(count, format.channels); ++c) {
    std::uint32_t value = channels[c];
    if (format.kind == ChannelKind::floating && bytes == 2) value = f16_from_f32(std::bit_cast<float>(value));
    if (format.kind == ChannelKind::unsigned_integer && bytes < 4) value = std::min(value, (1u << format.bits) - 1);
    if (format.kind == ChannelKind::signed_integer && bytes < 4) {
      const std::int32_t most = (1 << (format.bits - 1)) - 1;
      value = static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(value), -most - 1, most));
    }
    std::memcpy(to + c * bytes, &value, bytes);
  }
}

}  // namespace evo::vgpu

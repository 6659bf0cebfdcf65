#include <array>
#include <bit>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/isa/textures/texture_forms.h"
#include "evaluator/vgpu/machine/access.h"

// PTX ISA 9.0, 9.7.10.5 txq and 9.7.11.4 suq: what an object is. The numbers of channels are those of OpenCL 1.0.
namespace evo::vgpu {
namespace {

enum class Query : std::uint8_t {
  width,
  height,
  depth,
  channel_data_type,
  channel_order,
  array_size,
  // Of textures.
  normalized_coords,
  num_mipmap_levels,
  num_samples,
  filter_mode,
  addr_mode_0,
  addr_mode_1,
  addr_mode_2,
  // Of surfaces.
  memory_layout,
};

std::uint32_t channel_type(const TexelFormat& format, bool promotes) {
  const std::uint32_t size = format.bits == 8 ? 0 : format.bits == 16 ? 1 : 2;
  constexpr std::uint32_t kSigned = 0x10d7, kUnsigned = 0x10da, kHalf = 0x10dd, kFloat = 0x10de;
  constexpr std::uint32_t kSignedFraction = 0x10d0, kUnsignedFraction = 0x10d2;
  if (format.kind == ChannelKind::floating) return format.bits == 16 ? kHalf : kFloat;
  const bool is_signed = format.kind == ChannelKind::signed_integer;
  if (promotes) return (is_signed ? kSignedFraction : kUnsignedFraction) + size;
  return (is_signed ? kSigned : kUnsigned) + size;
}

std::uint32_t channel_order(const TexelFormat& format) {
  constexpr std::uint32_t kR = 0x10b0, kRG = 0x10b2, kRGBA = 0x10b5;
  return format.channels == 1 ? kR : format.channels == 2 ? kRG : kRGBA;
}

/// { wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border }
std::uint32_t number_of(TexelAddressing addressing) {
  constexpr std::array<std::uint32_t, 4> kNumbers{0, 3, 1, 4};
  return kNumbers[static_cast<std::size_t>(addressing)];
}

std::uint32_t answer(const Texels& texels, bool promotes, Query query) {
  switch (query) {
    case Query::width:
      return texels.size[0];
    case Query::height:
      return texels.dimensions > 1 ? texels.size[1] : 0;
    case Query::depth:
      return texels.dimensions > 2 ? texels.size[2] : 0;
    case Query::channel_data_type:
      return channel_type(texels.format, promotes);
    case Query::channel_order:
      return channel_order(texels.format);
    case Query::array_size:
      return texels.layered ? texels.layers : 0;
    default:
      return 0;  // There are no mipmaps and no samples, and arrays do not lie linearly.
  }
}

std::uint32_t answer(const Texture& texture, Query query) {
  switch (query) {
    case Query::normalized_coords:
      return texture.normalized ? 1 : 0;
    case Query::filter_mode:
      return texture.filters ? 1 : 0;
    case Query::addr_mode_0:
    case Query::addr_mode_1:
    case Query::addr_mode_2:
      return number_of(
          texture.addressing[static_cast<std::size_t>(query) - static_cast<std::size_t>(Query::addr_mode_0)]);
    default:
      return answer(texture.texels, texture.promotes_channels(), query);
  }
}

/// op: d. aux1: the query. The list: the handle.
template <bool kTexture>
void execute_query(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const auto query = static_cast<Query>(in.aux1);
  Word* d = warp.own(in.op[0]);
  for (std::uint32_t left = mask; left != 0;) {
    std::uint32_t lanes = left, value = 0;
    if constexpr (kTexture) {
      const Texture* texture = texture_of(warp, in, lanes);
      if (texture == nullptr) return;
      value = answer(*texture, query);
    } else {
      const Texels* surface = surface_of(warp, in, lanes);
      if (surface == nullptr) return;
      value = answer(*surface, false, query);
    }
    for (const int lane : lanes_of(lanes)) d[lane] = value;
    left &= ~lanes;
  }
}

void decode_query(Form& form, Execute execute, Query first_missing, Query last_missing) {
  form.take("level");  // There is one alone.
  const std::optional<Query> query = take_enumerator<Query>(form);
  if (!query || (*query >= first_missing && *query <= last_missing)) form.unsupported();
  form.destination(std::size_t{0}, form.type());
  form.instruction().aux1 = static_cast<std::uint32_t>(*query);
  form.begin_list();
  list_handle(form, form.operand(1));
  form.emit(execute, OpClass::integer);
}

}  // namespace

void decode_texture_query(Form& form) {
  decode_query(form, execute_query<true>, Query::memory_layout, Query::memory_layout);
}
void decode_surface_query(Form& form) {
  decode_query(form, execute_query<false>, Query::normalized_coords, Query::addr_mode_2);
}

}  // namespace evo::vgpu

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

#include "evaluator/numbers/float_formats.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/isa/textures/texture_forms.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/textures/object_table.h"
#include "evaluator/vgpu/textures/texture_sampling.h"

// PTX ISA 9.0, 9.7.10: tex, tld4, txq, istypep by handles of texture objects.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Result : std::uint8_t { words, halves, half_pairs };
constexpr std::uint32_t kNoComponent = 4;

/// In Instruction::aux1.
struct Fetch {
  std::uint32_t geometry = 0;
  bool by_index = false;  ///< Integer coordinates.
  bool has_offset = false;
  std::uint32_t component = kNoComponent;  ///< Of tld4.
  Result result = Result::words;

  std::uint32_t encoded() const {
    return geometry | (by_index ? 8u : 0) | (has_offset ? 16u : 0) | component << 5 |
           static_cast<std::uint32_t>(result) << 8;
  }
  static Fetch decoded(std::uint32_t bits) {
    return {bits & 7u, (bits & 8u) != 0, (bits & 16u) != 0, bits >> 5 & 7u, static_cast<Result>(bits >> 8)};
  }
};

/// The values of the registers in an instruction's list, one after the other.
class ListedRows {
 public:
  ListedRows(const Warp& warp, const Instruction& in)
      : warp_(warp), next_(warp.launch->kernel->places.data() + in.more + 1) {}  // Behind the handle.
  std::uint32_t take(int lane) { return warp_.row(next_[taken_++])[lane]; }
  void restart() { taken_ = 0; }
  const Place* rest(std::size_t from) const { return next_ + from; }

 private:
  const Warp& warp_;
  const Place* next_;
  std::size_t taken_ = 0;
};

bool fits(Warp& warp, const Instruction& in, int lane, const Texture& texture, const Fetch& fetch) {
  const Geometry& geometry = kGeometries[fetch.geometry];
  const Texels& texels = texture.texels;
  if (geometry.dimensions == texels.dimensions && geometry.layered == texels.layered && geometry.cube == texels.cube)
    return true;
  warp.fail(in, fmt::format("a .{} fetch from a texture of {}", geometry.name, describe_shape(texels)), lane);
  return false;
}

Footprint footprint_of(const Texture& texture, const Fetch& fetch, ListedRows& rows, int lane) {
  const Geometry& geometry = kGeometries[fetch.geometry];
  Coordinates where;
  rows.restart();
  const std::uint32_t layer = geometry.layered ? rows.take(lane) : 0;
  if (geometry.cube) {
    std::array<float, 3> direction;
    for (float& element : direction) element = std::bit_cast<float>(rows.take(lane));
    const std::uint32_t cubes = texture.texels.layers / 6;
    where = on_face(direction, std::min(layer, cubes - 1));
  } else {
    where.layer = layer;
    for (std::size_t d = 0; d < geometry.dimensions; ++d) {
      const std::uint32_t bits = rows.take(lane);
      where.at[d] = fetch.by_index ? static_cast<double>(static_cast<std::int32_t>(bits)) : std::bit_cast<float>(bits);
    }
  }
  for (std::size_t d = 0; fetch.has_offset && d < geometry.dimensions; ++d)
    where.offset[d] = static_cast<std::int32_t>(rows.take(lane));
  if (fetch.component != kNoComponent) return gathered(texture, where);
  return fetch.by_index ? indexed(texture, where) : sampled(texture, where);
}

/// What a fetch gives its lanes: four values each.
using Fetched = std::array<Texel, 32>;

Texel value_of(const Texture& texture, const Fetch& fetch, const Footprint& footprint,
               const std::array<Texel, 8>& texels) {
  if (fetch.component == kNoComponent) return weighted(texture, footprint, texels);
  return {texels[0][fetch.component], texels[1][fetch.component], texels[2][fetch.component],
          texels[3][fetch.component]};
}

/// Fetches for lanes that name the same texture. False when the warp has failed.
bool fetch_for(Warp& warp, const Instruction& in, std::uint32_t lanes, const Texture& texture, const Fetch& fetch,
               Fetched& results) {
  const AccessMode mode = AccessMode::decoded(in.aux0);
  const std::uint32_t bytes = texture.texels.format.bytes();
  ListedRows rows(warp, in);
  std::array<Footprint, 32> footprints;
  std::array<std::uint32_t, 8> masks{};
  std::array<Touched, 8> touched;
  std::size_t taps = 0;
  for (const int lane : lanes_of(lanes)) {
    Footprint& footprint = footprints[static_cast<std::size_t>(lane)];
    footprint = footprint_of(texture, fetch, rows, lane);
    taps = std::max(taps, footprint.count);
    for (std::size_t i = 0; i < footprint.count; ++i) {
      touched[i].address[lane] = address_of(texture.texels, footprint.taps[i], footprint.layer);
      if (!footprint.taps[i].border) masks[i] |= 1u << lane;
    }
  }
  if (warp.launch->notes_accesses) note_texels(warp, in, std::span(masks).first(taps), bytes, touched);
  std::array<std::array<Texel, 8>, 32> texels;
  for (std::size_t i = 0; i < taps; ++i) {
    if (masks[i] != 0) {
      fill_addresses(masks[i], touched[i]);
      if (!resolve_addresses(warp, in, masks[i], mode, bytes, touched[i])) return false;
      observe_load(warp, in, masks[i], bytes, touched[i]);
    }
    for (const int lane : lanes_of(lanes))
      texels[static_cast<std::size_t>(lane)][i] =
          (masks[i] >> lane & 1u) != 0 ? read_texel(texture, touched[i].at[lane]) : border_texel(texture);
  }
  for (const std::size_t lane : lanes_of(lanes))
    results[lane] = value_of(texture, fetch, footprints[lane], texels[lane]);
  return true;
}

std::uint32_t half_of(std::uint32_t single) {
  return f16_from_f32(std::bit_cast<float>(single));
}

void write_results(Warp& warp, const Place* to, std::uint32_t mask, Result result, const Fetched& fetched) {
  const bool pairs = result == Result::half_pairs;
  for (std::size_t i = 0; i < (pairs ? 2u : 4u); ++i) {
    Word* row = warp.own(to[i]);
    for (const int lane : lanes_of(mask)) {
      const Texel& value = fetched[static_cast<std::size_t>(lane)];
      row[lane] = pairs                      ? half_of(value[2 * i]) | half_of(value[2 * i + 1]) << 16
                  : result == Result::halves ? half_of(value[i])
                                             : value[i];
    }
  }
}

/// op: the predicate that says that texels are resident. The list: handle, coordinate, offset, results.
void execute_fetch(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Fetch fetch = Fetch::decoded(in.aux1);
  const Geometry& geometry = kGeometries[fetch.geometry];
  Fetched fetched;
  for (std::uint32_t left = mask; left != 0;) {
    std::uint32_t lanes = left;
    const Texture* texture = texture_of(warp, in, lanes);
    if (texture == nullptr || !fits(warp, in, std::countr_zero(lanes), *texture, fetch)) return;
    if (!fetch_for(warp, in, lanes, *texture, fetch, fetched)) return;
    left &= ~lanes;
  }
  const std::size_t results = geometry.elements() + (fetch.has_offset ? geometry.dimensions : 0u);
  write_results(warp, ListedRows(warp, in).rest(results), mask, fetch.result, fetched);
  put_predicate(warp, in.op[0], kAllLanes, mask);
}

// ---- Decoding

/// Operands behind the texture: level of detail or gradients, which change nothing of one level, offsets.
void take_rest(Form& form, Fetch& fetch, std::size_t at) {
  const Geometry& geometry = kGeometries[fetch.geometry];
  if (at == form.operand_count()) return;
  const ptx::Operand& offset = form.operand(at);
  if (offset.kind != ptx::Operand::Kind::vector || at + 1 < form.operand_count())
    form.unsupported("a comparison with a depth texture");
  if (geometry.cube || offset.elements.size() < geometry.dimensions) form.unsupported("offsets of another geometry");
  for (std::size_t d = 0; d < geometry.dimensions; ++d) form.list_source(offset.elements[d], Type::s32);
  fetch.has_offset = true;
}

void finish_fetch(Form& form, Fetch fetch, Type result, std::size_t rest) {
  form.predicate_destination_of_pair(form.operand(0));
  form.begin_list();
  list_handle(form, form.operand(1));
  list_coordinate(form, form.operand(1), kGeometries[fetch.geometry], fetch.by_index ? Type::s32 : Type::f32);
  take_rest(form, fetch, rest);
  const auto elements = form.elements(0);
  fetch.result = result == Type::f16x2 ? Result::half_pairs : result == Type::f16 ? Result::halves : Result::words;
  if (elements.size() != (fetch.result == Result::half_pairs ? 2u : 4u))
    form.unsupported("the number of registers does not fit the vector");
  for (const ptx::Operand& element : elements) form.list_destination(element, result);
  MemoryOrder order;
  order.read_only = true;
  form.instruction().aux0 = AccessMode{Where::global, true, false}.encoded() | order.encoded();
  form.instruction().aux1 = fetch.encoded();
  form.instruction().cache = form.new_cache();
  form.emit(execute_fetch, OpClass::load);
}

void check_types(Form& form, Type result, Type coordinate, bool pairs) {
  const bool fits = pairs ? result == Type::f16x2
                          : result == Type::u32 || result == Type::s32 || result == Type::f32 || result == Type::f16;
  if (!fits) form.unsupported("type ." + std::string(ptx::name_of(result)));
  if (coordinate != Type::s32 && coordinate != Type::f32)
    form.unsupported("coordinates of type ." + std::string(ptx::name_of(coordinate)));
}

void decode_tex(Form& form) {
  const std::string_view mode = form.take_one_of({"base", "level", "grad"});
  Fetch fetch;
  fetch.geometry = take_geometry(form);
  const bool pairs = form.take_one_of({"v4", "v2"}) == "v2";
  const Type result = form.type(), coordinate = form.type();
  check_types(form, result, coordinate, pairs);
  fetch.by_index = coordinate == Type::s32;
  if (fetch.by_index && kGeometries[fetch.geometry].cube) form.unsupported("coordinates of type .s32");
  finish_fetch(form, fetch, result, mode == "level" ? 3 : mode == "grad" ? 4 : 2);
}

void decode_tld4(Form& form) {
  Fetch fetch;
  const std::string_view component = form.take_one_of({"r", "g", "b", "a"});
  if (component.empty()) form.unsupported("no component");
  fetch.component = static_cast<std::uint32_t>(std::string_view("rgba").find(component));
  fetch.geometry = take_geometry(form);
  if (kGeometries[fetch.geometry].dimensions != 2) form.unsupported("a texture without two dimensions");
  form.take("v4");
  const Type result = form.type(), coordinate = form.type();
  check_types(form, result, coordinate, false);
  if (result == Type::f16 || coordinate != Type::f32) form.unsupported("type ." + std::string(ptx::name_of(result)));
  finish_fetch(form, fetch, result, 2);
}

/// op: the predicate. aux1: whether textures are meant. The list: the pointer.
void execute_istypep(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const auto* handles = source_row<std::uint64_t>(warp, warp.launch->kernel->places[in.more]);
  const ObjectTable* objects = warp.launch->objects;
  std::uint32_t is = 0;
  for (const int lane : lanes_of(mask)) {
    if (objects == nullptr) continue;
    const bool found = in.aux1 == 0   ? objects->surface(handles[lane]) != nullptr
                       : in.aux1 == 1 ? objects->texture(handles[lane]) != nullptr
                                      : false;
    is |= static_cast<std::uint32_t>(found) << lane;
  }
  put_predicate(warp, in.op[0], is, mask);
}

void decode_istypep(Form& form) {
  const std::string_view type = form.take_one_of({"surfref", "texref", "samplerref"});
  if (type.empty()) form.unsupported("no type");
  form.instruction().aux1 = type == "surfref" ? 0 : type == "texref" ? 1 : 2;
  form.predicate_destination(form.operand(0));
  form.begin_list();
  form.list_source(form.operand(1), Type::b64);
  form.emit(execute_istypep, OpClass::integer);
}

}  // namespace

std::span<const Operation> texture_operations() {
  static constexpr Operation kOperations[] = {
      {"tex", Operands::any, decode_tex},
      {"tld4", Operands::any, decode_tld4},
      {"txq", Operands::any, decode_texture_query},
      {"istypep", Operands::any, decode_istypep},
  };
  return kOperations;
}

}  // namespace evo::vgpu

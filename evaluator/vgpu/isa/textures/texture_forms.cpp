#include "evaluator/vgpu/isa/textures/texture_forms.h"

#include <fmt/core.h>

#include <bit>

#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/textures/object_table.h"

namespace evo::vgpu {
namespace {

/// The handle of the first of `lanes`, which become those that have it too.
std::uint64_t shared_handle(const Warp& warp, const Instruction& in, std::uint32_t& lanes) {
  const auto* handles = source_row<std::uint64_t>(warp, warp.launch->kernel->places[in.more]);
  const std::uint64_t handle = handles[std::countr_zero(lanes)];
  lanes &= lanes_with(handles, handle);
  return handle;
}

}  // namespace

std::uint32_t take_geometry(Form& form) {
  for (std::uint32_t i = 0; i < kGeometries.size(); ++i)
    if (form.take(kGeometries[i].name)) return i;
  form.unsupported("only .1d, .2d, .3d, .a1d, .a2d, .cube and .acube");
}

void list_handle(Form& form, const ptx::Operand& address) {
  if (address.kind != ptx::Operand::Kind::address || address.offset != 0)
    form.unsupported("a handle in brackets is expected");
  form.list_source(address.elements[0], ptx::Type::b64);
}

void list_coordinate(Form& form, const ptx::Operand& address, const Geometry& geometry, ptx::Type type) {
  if (address.elements.size() > 2) form.unsupported("a sampler of its own");
  if (address.elements.size() < 2) form.unsupported("no coordinate");
  const ptx::Operand& whole = address.elements[1];
  const bool is_vector = whole.kind == ptx::Operand::Kind::vector;
  const std::size_t count = is_vector ? whole.elements.size() : 1;
  if (count < geometry.elements()) form.unsupported("too few elements of the coordinate");
  for (std::size_t i = 0; i < geometry.elements(); ++i)
    form.list_source(is_vector ? whole.elements[i] : whole, geometry.layered && i == 0 ? ptx::Type::u32 : type);
}

std::string describe_shape(const Texels& texels) {
  if (texels.cube) return texels.layered ? "an array of cubes" : "a cube";
  if (!texels.in_array) return texels.dimensions == 1 ? "linear memory" : "pitched memory";
  return fmt::format("an array of {} dimension{}{}", texels.dimensions, texels.dimensions == 1 ? "" : "s",
                     texels.layered ? " with layers" : "");
}

const Texture* texture_of(Warp& warp, const Instruction& in, std::uint32_t& lanes) {
  const int lane = std::countr_zero(lanes);
  const std::uint64_t handle = shared_handle(warp, in, lanes);
  const ObjectTable* objects = warp.launch->objects;
  const Texture* texture = objects == nullptr ? nullptr : objects->texture(handle);
  if (texture == nullptr) {
    const bool surface = objects != nullptr && objects->surface(handle) != nullptr;
    warp.fail(in, fmt::format("{:#x} is {}", handle, surface ? "a surface object" : "no texture object"), lane);
  }
  return texture;
}

const Texels* surface_of(Warp& warp, const Instruction& in, std::uint32_t& lanes) {
  const int lane = std::countr_zero(lanes);
  const std::uint64_t handle = shared_handle(warp, in, lanes);
  const ObjectTable* objects = warp.launch->objects;
  const Texels* surface = objects == nullptr ? nullptr : objects->surface(handle);
  if (surface == nullptr) {
    const bool texture = objects != nullptr && objects->texture(handle) != nullptr;
    warp.fail(in, fmt::format("{:#x} is {}", handle, texture ? "a texture object" : "no surface object"), lane);
  }
  return surface;
}

void fill_addresses(std::uint32_t mask, Touched& touched) {
  for (const int lane : lanes_of(~mask)) touched.address[lane] = touched.address[std::countr_zero(mask)];
}

}  // namespace evo::vgpu

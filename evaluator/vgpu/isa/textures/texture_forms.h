#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/access_mode.h"
#include "evaluator/vgpu/textures/texture.h"

/// What instructions on textures and on surfaces have in common.
namespace evo::vgpu {

/// How an instruction sees a texture or surface: 2d, a1d, cube ...
struct Geometry {
  std::string_view name;
  std::uint8_t dimensions;
  bool layered;
  bool cube;
  /// Elements of the coordinate that count: the layer's number, then one for each dimension (three of a cube).
  std::size_t elements() const { return (layered ? 1u : 0u) + (cube ? 3u : dimensions); }
};
inline constexpr std::array<Geometry, 7> kGeometries{{{"1d", 1, false, false},
                                                      {"2d", 2, false, false},
                                                      {"3d", 3, false, false},
                                                      {"a1d", 1, true, false},
                                                      {"a2d", 2, true, false},
                                                      {"cube", 2, false, true},
                                                      {"acube", 2, true, true}}};

/// The number in kGeometries. Refuses others.
std::uint32_t take_geometry(Form& form);
/// The operands [handle, {coordinate}] go to the instruction's list: handle, then elements.
void list_handle(Form& form, const ptx::Operand& address);
void list_coordinate(Form& form, const ptx::Operand& address, const Geometry& geometry, ptx::Type type);

/// "a 2d array of layers": for reports.
std::string describe_shape(const Texels& texels);

/// The object that the first lane of `lanes` names, which then has only lanes that name it too. Null: it names none,
/// or the warp has failed.
const Texture* texture_of(Warp& warp, const Instruction& in, std::uint32_t& lanes);
const Texels* surface_of(Warp& warp, const Instruction& in, std::uint32_t& lanes);

/// Gives lanes outside of the mask the address of a lane inside.
void fill_addresses(std::uint32_t mask, Touched& touched);

}  // namespace evo::vgpu

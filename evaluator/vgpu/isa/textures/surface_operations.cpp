#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/isa/textures/texture_forms.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/numbers/combining.h"
#include "evaluator/vgpu/textures/texture_sampling.h"

// PTX ISA 9.0, 9.7.11: suld, sust, sured, suq by handles of surface objects.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Outside : std::uint8_t { trap, clamp, zero };
/// What the first coordinate counts.
enum class Unit : std::uint8_t { bytes, texels, values };

/// In Instruction::aux1.
struct SurfaceAccess {
  std::uint32_t geometry = 0;
  Outside outside = Outside::trap;
  Unit unit = Unit::bytes;
  std::uint32_t element_bytes = 4;
  std::uint32_t count = 1;  ///< Of elements.

  /// How many bytes a lane accesses.
  std::uint32_t bytes(const Texels& surface) const {
    return unit == Unit::texels ? surface.format.bytes() : element_bytes * count;
  }
  /// Where they begin in a row, given the first coordinate.
  std::int64_t begin(const Texels& surface, std::int64_t x) const {
    return x * (unit == Unit::bytes ? 1 : unit == Unit::texels ? surface.format.bytes() : element_bytes);
  }
  std::uint32_t encoded() const {
    return geometry | static_cast<std::uint32_t>(outside) << 3 | static_cast<std::uint32_t>(unit) << 5 |
           element_bytes << 8 | count << 12;
  }
  static SurfaceAccess decoded(std::uint32_t bits) {
    return {bits & 7u, static_cast<Outside>(bits >> 3 & 3u), static_cast<Unit>(bits >> 5 & 3u), bits >> 8 & 15u,
            bits >> 12};
  }
};

/// The byte in its row, the row, the slice or layer.
using SurfacePlace = std::array<std::int64_t, 3>;

SurfacePlace place_of(const Warp& warp, const Instruction& in, int lane, const SurfaceAccess& access,
                      const Texels& surface) {
  const Geometry& geometry = kGeometries[access.geometry];
  const Place* places = warp.launch->kernel->places.data() + in.more + 1;
  const auto taken = [&](std::size_t i) { return warp.row(places[i])[lane]; };
  SurfacePlace place{};
  for (std::size_t d = 0; d < geometry.dimensions; ++d)
    place[d] = static_cast<std::int32_t>(taken((geometry.layered ? 1u : 0u) + d));
  if (geometry.layered) place[2] = taken(0);
  place[0] = access.begin(surface, place[0]);
  return place;
}

std::string describe_access(const AccessMode& mode, std::uint32_t bytes, const SurfacePlace& place,
                            const Texels& surface) {
  std::string where = fmt::format("byte {}", place[0]);
  if (surface.dimensions > 1) where += fmt::format(" of row {}", place[1]);
  if (surface.layered || surface.dimensions > 2)
    where += fmt::format(" of {} {}", surface.layered ? "layer" : "slice", place[2]);
  return fmt::format("{} {} byte{} at {}, outside of a surface of {} x {} x {} texels of {} bytes",
                     mode.writes ? "writes" : "reads", bytes, bytes == 1 ? "" : "s", where, surface.size[0],
                     surface.size[1], std::max(surface.size[2], surface.layers), surface.format.bytes());
}

bool fits(Warp& warp, const Instruction& in, int lane, const Texels& surface, const SurfaceAccess& access) {
  const Geometry& geometry = kGeometries[access.geometry];
  const bool layered = surface.layered || surface.cube;
  if (geometry.dimensions == surface.dimensions && geometry.layered == layered) return true;
  warp.fail(in, fmt::format("a .{} access to a surface of {}", geometry.name, describe_shape(surface)), lane);
  return false;
}

/// Where each lane's access leads. `lanes` loses those whose access .zero leaves out. False when the warp has failed.
bool locate(Warp& warp, const Instruction& in, std::uint32_t& lanes, const Texels& surface, const SurfaceAccess& access,
            Touched& touched) {
  const std::uint32_t bytes = access.bytes(surface);
  const SurfacePlace most{static_cast<std::int64_t>(surface.row_bytes()) - bytes, std::int64_t{surface.size[1]} - 1,
                          std::int64_t{std::max(surface.size[2], surface.layers)} - 1};
  for (const int lane : lanes_of(lanes)) {
    SurfacePlace place = place_of(warp, in, lane, access, surface);
    bool inside = true;
    for (std::size_t d = 0; d < place.size(); ++d) inside &= place[d] >= 0 && place[d] <= most[d];
    if (!inside && access.outside == Outside::trap) {
      warp.fail(in, describe_access(AccessMode::decoded(in.aux0), bytes, place, surface), lane,
                FindingKind::bad_access);
      return false;
    }
    if (!inside && (access.outside == Outside::zero || most[0] < 0)) lanes &= ~(1u << lane);
    for (std::size_t d = 0; d < place.size(); ++d)
      place[d] = std::clamp<std::int64_t>(place[d], 0, std::max<std::int64_t>(most[d], 0));
    touched.address[lane] = surface.address + static_cast<std::uint64_t>(place[0]) +
                            static_cast<std::uint64_t>(place[1]) * surface.pitch +
                            static_cast<std::uint64_t>(place[2]) * surface.slice;
  }
  if (lanes == 0) return true;
  const AccessMode mode = AccessMode::decoded(in.aux0);
  fill_addresses(lanes, touched);
  if (warp.launch->notes_accesses) note_access(warp, in, lanes, mode, bytes, touched);
  return resolve_addresses(warp, in, lanes, mode, bytes, touched);
}

/// Calls perform(surface, lanes, touched) for lanes that name the same surface and whose accesses lead into it, and
/// leave_out(lanes) for those whose do not.
template <class Perform, class LeaveOut>
void each_surface(Warp& warp, const Instruction& in, std::uint32_t mask, Perform perform, LeaveOut leave_out) {
  const SurfaceAccess access = SurfaceAccess::decoded(in.aux1);
  for (std::uint32_t left = mask; left != 0;) {
    std::uint32_t lanes = left;
    const Texels* surface = surface_of(warp, in, lanes);
    if (surface == nullptr || !fits(warp, in, std::countr_zero(lanes), *surface, access)) return;
    left &= ~lanes;
    std::uint32_t inside = lanes;
    Touched touched;
    if (!locate(warp, in, inside, *surface, access, touched)) return;
    if (inside != 0) perform(*surface, inside, touched);
    leave_out(lanes & ~inside);
  }
}
void nothing(std::uint32_t) {}

/// The elements in the list, behind handle and coordinate.
const Place* elements_in(const Warp& warp, const Instruction& in) {
  return warp.launch->kernel->places.data() + in.more + 1 +
         kGeometries[SurfaceAccess::decoded(in.aux1).geometry].elements();
}

template <class T>
void execute_surface_load(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::size_t count = SurfaceAccess::decoded(in.aux1).count;
  const Place* elements = elements_in(warp, in);
  const auto put_all = [&](std::uint32_t lanes, auto value_at) {
    for (std::size_t i = 0; i < count; ++i)
      for (const int lane : lanes_of(lanes)) put<T>(own_row<T>(warp, elements[i]), lane, value_at(lane, i));
  };
  each_surface(
      warp, in, mask,
      [&](const Texels&, std::uint32_t lanes, const Touched& touched) {
        observe_load(warp, in, lanes, static_cast<std::uint32_t>(count * sizeof(T)), touched);
        put_all(lanes, [&](int lane, std::size_t i) {
          T value;
          std::memcpy(&value, touched.at[lane] + i * sizeof(T), sizeof value);
          return value;
        });
      },
      [&](std::uint32_t lanes) { put_all(lanes, [](int, std::size_t) { return T{}; }); });
}

/// Writes the bytes of each lane.
template <class BytesOf>
void store_to_surface(Warp& warp, const Instruction& in, std::uint32_t mask, BytesOf bytes_of_lane) {
  each_surface(
      warp, in, mask,
      [&](const Texels& surface, std::uint32_t lanes, const Touched& touched) {
        const std::uint32_t bytes = SurfaceAccess::decoded(in.aux1).bytes(surface);
        std::uint32_t changed = 0;
        for (const int lane : lanes_of(lanes)) {
          std::array<std::byte, 16> value;
          bytes_of_lane(surface, lane, value.data());
          changed |= static_cast<std::uint32_t>(std::memcmp(touched.at[lane], value.data(), bytes) != 0) << lane;
          std::memcpy(touched.at[lane], value.data(), bytes);
        }
        observe_store(warp, in, lanes, bytes, touched, changed);
      },
      nothing);
}

template <class T>
void execute_surface_store(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::size_t count = SurfaceAccess::decoded(in.aux1).count;
  const Place* elements = elements_in(warp, in);
  store_to_surface(warp, in, mask, [&](const Texels&, int lane, std::byte* to) {
    for (std::size_t i = 0; i < count; ++i) {
      const T value = get<T>(source_row<T>(warp, elements[i]), lane);
      std::memcpy(to + i * sizeof(T), &value, sizeof value);
    }
  });
}

void execute_formatted_store(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::size_t count = SurfaceAccess::decoded(in.aux1).count;
  const Place* elements = elements_in(warp, in);
  store_to_surface(warp, in, mask, [&](const Texels& surface, int lane, std::byte* to) {
    Texel channels{};
    for (std::size_t i = 0; i < count; ++i) channels[i] = warp.row(elements[i])[lane];
    write_texel(surface.format, channels, count, std::byte{kFreshByte}, to);
  });
}

/// kBySign: the surface's format says whether its numbers have a sign.
template <class T, class Op, bool kBySign = false>
void execute_surface_reduction(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const auto* b = source_row<T>(warp, elements_in(warp, in)[0]);
  each_surface(
      warp, in, mask,
      [&](const Texels& surface, std::uint32_t lanes, const Touched& touched) {
        observe_atomic(warp, in, lanes, sizeof(T), touched);
        const bool is_signed = kBySign && surface.format.kind == ChannelKind::signed_integer;
        for (const int lane : lanes_of(lanes)) {
          T old;
          std::memcpy(&old, touched.at[lane], sizeof old);
          const T value = get<T>(b, lane);
          using Signed = std::make_signed_t<T>;
          const T fresh = is_signed ? static_cast<T>(Op()(static_cast<Signed>(old), static_cast<Signed>(value)))
                                    : static_cast<T>(Op()(old, value));
          std::memcpy(touched.at[lane], &fresh, sizeof fresh);
        }
      },
      nothing);
}

// ---- Decoding

/// Takes geometry and bounds, and lists handle and coordinate.
SurfaceAccess take_surface(Form& form, const ptx::Operand& address) {
  SurfaceAccess access;
  access.geometry = take_geometry(form);
  const Geometry& geometry = kGeometries[access.geometry];
  if (geometry.cube) form.unsupported("only .1d, .2d, .3d, .a1d and .a2d");
  const std::optional<Outside> outside = take_enumerator<Outside>(form);
  access.outside = outside.value_or(Outside::trap);
  for (const std::string_view cached : {"ca", "cg", "cs", "cv", "wb", "wt"}) form.take(cached);
  form.begin_list();
  list_handle(form, address);
  list_coordinate(form, address, geometry, Type::s32);
  return access;
}

std::uint32_t count_of(Form& form, std::span<const ptx::Operand> elements) {
  const std::string_view vector = form.take_one_of({"v2", "v4"});
  const std::size_t wanted = vector.empty() ? 1 : static_cast<std::size_t>(vector[1] - '0');
  if (wanted != elements.size()) form.unsupported("the number of registers does not fit the vector");
  return static_cast<std::uint32_t>(wanted);
}

void finish_surface(Form& form, const SurfaceAccess& access, bool writes, Execute execute, OpClass op_class) {
  MemoryOrder order;
  order.strong = op_class == OpClass::reduction;
  form.instruction().aux0 = AccessMode{Where::global, true, writes}.encoded() | order.encoded();
  form.instruction().aux1 = access.encoded();
  form.instruction().cache = form.new_cache();
  form.emit(execute, op_class);
}

template <template <class> class Body>
Execute choose_element(Form& form, Type type) {
  return with_integer<8>(form, type, []<class T>(T) -> Execute { return Body<T>::execute; });
}
template <class T>
struct LoadOf {
  static constexpr Execute execute = execute_surface_load<std::make_unsigned_t<T>>;
};
template <class T>
struct StoreOf {
  static constexpr Execute execute = execute_surface_store<std::make_unsigned_t<T>>;
};

Type take_element(Form& form, SurfaceAccess& access) {
  const Type type = form.type();
  access.element_bytes = static_cast<std::uint32_t>(ptx::bits_of(type)) / 8;
  if (access.element_bytes * access.count > 16) form.unsupported("more than 16 bytes");
  return type;
}

void decode_suld(Form& form) {
  if (!form.take("b")) form.unsupported();
  SurfaceAccess access = take_surface(form, form.operand(1));
  const auto elements = form.elements(0);
  access.count = count_of(form, elements);
  const Type type = take_element(form, access);
  for (const ptx::Operand& element : elements) form.list_destination(element, type);
  finish_surface(form, access, false, choose_element<LoadOf>(form, type), OpClass::load);
}

void decode_sust(Form& form) {
  const bool formatted = form.take("p");
  if (!formatted && !form.take("b")) form.unsupported();
  SurfaceAccess access = take_surface(form, form.operand(0));
  const auto elements = form.elements(1);
  access.count = count_of(form, elements);
  const Type type = take_element(form, access);
  if (formatted && type != Type::b32) form.unsupported("type ." + std::string(ptx::name_of(type)));
  access.unit = formatted ? Unit::texels : Unit::bytes;
  for (const ptx::Operand& element : elements) form.list_source(element, type);
  finish_surface(form, access, true, formatted ? execute_formatted_store : choose_element<StoreOf>(form, type),
                 OpClass::store);
}

template <class Op, bool kBySign>
Execute choose_combining(Form& form, Type type) {
  return with_integer<32>(form, type, []<class T>(T) -> Execute { return execute_surface_reduction<T, Op, kBySign>; });
}

template <bool kBySign>
Execute choose_reduction(Form& form, std::string_view op, Type type) {
  if (op == "add") return choose_combining<std::plus<>, kBySign>(form, type);
  if (op == "min") return choose_combining<Min, kBySign>(form, type);
  if (op == "max") return choose_combining<Max, kBySign>(form, type);
  if (op == "and") return choose_combining<std::bit_and<>, kBySign>(form, type);
  if (op == "or") return choose_combining<std::bit_or<>, kBySign>(form, type);
  form.unsupported();
}

void decode_sured(Form& form) {
  const bool by_sample = form.take("p");
  if (!by_sample && !form.take("b")) form.unsupported();
  const std::string_view op = form.take_one_of({"add", "min", "max", "and", "or"});
  SurfaceAccess access = take_surface(form, form.operand(0));
  if (kGeometries[access.geometry].layered) form.unsupported("only .1d, .2d and .3d");
  access.unit = by_sample ? Unit::values : Unit::bytes;
  const Type type = take_element(form, access);
  form.list_source(form.elements(1)[0], type);
  finish_surface(form, access, true,
                 by_sample ? choose_reduction<true>(form, op, type) : choose_reduction<false>(form, op, type),
                 OpClass::reduction);
}

}  // namespace

std::span<const Operation> surface_operations() {
  static constexpr Operation kOperations[] = {
      {"suld", Operands::any, decode_suld},
      {"sust", Operands::any, decode_sust},
      {"sured", Operands::any, decode_sured},
      {"suq", Operands::any, decode_surface_query},
  };
  return kOperations;
}

}  // namespace evo::vgpu

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <memory>
#include <optional>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/machine/tensor_copy.h"
#include "evaluator/vgpu/parts/bulk_issue.h"

// PTX ISA 9.0, 9.7.9.27 "Data Movement and Conversion Instructions: Tensor copy" in tile mode, and tensormap.replace.
namespace evo::vgpu {
namespace {

using ptx::Type;

/// Boxes in shared memory begin at multiples of this.
constexpr std::uint32_t kBoxAlignment = 128;
constexpr std::uint32_t kMapAlignment = 64;
constexpr std::int64_t kStartAlignment = 16;  ///< Of a box within a row of the tensor.

/// The map of an instruction whose aux1 has the mode of its address in the low byte.
std::byte* map_bytes(Warp& warp, const Instruction& in, int lane, Place base) {
  const AccessMode mode = AccessMode::decoded(in.aux1);
  const std::uint64_t address = address_in(warp, base, mode, static_cast<std::uint32_t>(in.immediate), lane);
  if (address % kMapAlignment != 0) {
    warp.fail(in, "a tensor map that is not aligned to 64 bytes", lane);
    return nullptr;
  }
  return resolve_lane(warp, in, lane, mode, address, kTensorMapBytes);
}

constexpr std::uint32_t kByRows = 1u << 16;  ///< In aux1: tile::gather4 or tile::scatter4.

/// The box that a lane asks for: the map at op[1], coordinates in the list. aux1 has the rank in its second byte.
std::optional<TensorBox> box_of(Warp& warp, const Instruction& in, int lane, bool writes) {
  const std::byte* bytes = map_bytes(warp, in, lane, in.op[1]);
  if (bytes == nullptr) return std::nullopt;
  TensorMapObject map;
  std::memcpy(&map, bytes, sizeof map);
  const auto refuse = [&](const std::string& why) {
    warp.fail(in, why, lane);
    return std::nullopt;
  };
  if (const std::string why = why_refused(map); !why.empty()) return refuse("the tensor map: " + why);
  const std::uint32_t rank = in.aux1 >> 8 & 0xffu;
  const bool by_rows = (in.aux1 & kByRows) != 0;
  if (by_rows && map.box[1] != 1) return refuse("a copy of four rows with a tensor map whose box has not one row");
  if (map.rank != rank) {
    return refuse("a copy of " + std::to_string(rank) + " dimensions with a tensor map of " + std::to_string(map.rank));
  }
  TensorCoordinates at{};
  const std::uint32_t coordinates = by_rows ? kMaxTensorRank : rank;
  for (std::uint32_t i = 0; i < coordinates; ++i) {
    const Place place = warp.launch->kernel->places[in.more + i];
    at[i] = static_cast<std::int32_t>(warp.row(place)[lane]);
  }
  // A GPU reports an illegal instruction.
  if (at[0] * static_cast<std::int64_t>(bytes_of(map.element)) % kStartAlignment != 0) {
    return refuse(fmt::format(
        "a box that begins at element {} of the innermost dimension, which is no multiple of 16 bytes", at[0]));
  }
  // A GPU reports an illegal instruction here too. Reads before the tensor are filled, but a stored box must not begin
  // there.
  for (std::uint32_t i = 0; writes && i < coordinates; ++i)
    if (at[i] < 0)
      return refuse(
          fmt::format("a box to be stored that begins before the tensor: element {} of dimension {}", at[i], i));
  TensorBox box = by_rows ? TensorBox::of_rows(map, at) : TensorBox(map, at);
  if (const std::string wrong = box.locate(*warp.launch->memory, writes); !wrong.empty()) return refuse(wrong);
  return box;
}

std::optional<SharedPlace> shared_side(Warp& warp, const Instruction& in, int lane, const TensorBox& box) {
  const AccessMode mode = AccessMode::decoded(in.aux0);
  const std::uint64_t address = address_in(warp, in.op[0], mode, in.op[2], lane);
  return shared_place(warp, in, lane, mode, address, box.map().room_bytes(), kBoxAlignment);
}

/// op: shared memory, map, offset in shared memory, mbarrier, block mask, nothing.
void execute_tensor_load(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    const auto found = box_of(warp, in, lane, false);
    if (!found) return;
    const auto place = shared_side(warp, in, lane, *found);
    if (!place) return;
    const auto box = std::make_shared<const TensorBox>(*found);
    const std::uint32_t offset = place->offset;
    const auto deliver = [&](Block& block) -> std::function<void()> {
      return [box, offset, &block, &warp] {
        box->load(block.shared.data(), offset);
        Observer* const observer = warp.launch->observer;
        if (observer == nullptr) return;
        observer->bulk_loaded({&block, offset}, box->map().room_bytes());
        box->each_piece(offset, [&](std::uint32_t at, std::uint64_t from, std::uint32_t count) {
          observer->pass_state(warp, from, {&block, at}, count);
        });
      };
    };
    if (Observer* const observer = warp.launch->observer) {
      box->each_piece(offset, [&](std::uint32_t, std::uint64_t from, std::uint32_t count) {
        observer->bulk_source(warp, in, lane, {Where::global, true, false}, from, count);
      });
    }
    if (!issue_to_blocks(warp, in, lane, *place, {box->map().box_bytes(), true, false}, deliver)) return;
  }
}

Type type_of(TensorElement element) {
  return element == TensorElement::f32_ftz ? Type::f32 : ptx::parse_type(enumerator_name(element));
}

/// The map says what the elements are; for logic only their size counts.
std::optional<Reduction> reduction_on(std::string_view operation, TensorElement element) {
  const bool logic = operation == "and" || operation == "or" || operation == "xor";
  if (!logic) return reduction_of(operation, type_of(element), element == TensorElement::f32_ftz);
  return reduction_of(operation, bytes_of(element) == 8 ? Type::b64 : bytes_of(element) == 4 ? Type::b32 : Type::none);
}

/// op: shared memory, map, offset in shared memory, nothing, nothing, number of the reduction plus one.
void execute_tensor_store(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    const auto found = box_of(warp, in, lane, true);
    if (!found) return;
    const auto place = shared_side(warp, in, lane, *found);
    if (!place) return;
    const auto box = std::make_shared<const TensorBox>(*found);
    Reduction reduction;
    if (in.op[5] != 0) {
      const auto wanted = reduction_on(kReductions[in.op[5] - 1], box->map().element);
      if (!wanted) return warp.fail(in, "a reduction that the tensor map's elements do not have", lane);
      reduction = *wanted;
    }
    const std::uint32_t offset = place->offset;
    Block* block = place->block;
    std::function<void()> perform = [box, offset, block, reduction] {
      if (reduction.combine != nullptr) {
        box->reduce(block->shared.data(), offset, reduction);
      } else {
        box->store(block->shared.data(), offset);
      }
    };
    std::function<void()> settle;
    if (Observer* const observer = warp.launch->observer) {
      const AccessMode mode{Where::shared, false, false};
      const std::uint32_t bytes = box->map().box_bytes();
      // Rows outside of the tensor are not stored, so they may be unwritten. Gaps between rows that are narrower than
      // the swizzle are not read.
      if (box->inside_bytes() == bytes && box->map().room_bytes() == bytes)
        observer->begin_bulk_read(warp, in, lane, mode, offset, bytes);
      perform = [=, &warp, &in, perform = std::move(perform)] {
        perform();
        observer->end_bulk_read(warp, in, lane, mode, offset, bytes);
        box->each_piece(offset, [&](std::uint32_t at, std::uint64_t address, std::uint32_t count) {
          observer->bulk_stored(warp, in, lane, {block, at}, address, count, reduction.combine != nullptr);
        });
      };
      settle = [=, &warp, &in] {
        box->each_piece(offset, [&](std::uint32_t, std::uint64_t address, std::uint32_t count) {
          observer->bulk_settled(warp, in, lane, address, count);
        });
      };
    }
    add_to_group(warp, in, lane, std::move(perform), std::move(settle));
    note_copy(warp, {static_cast<std::uint32_t>(box->inside_bytes()), true, true}, nullptr);
  }
}

void execute_tensor_prefetch(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask))
    if (!box_of(warp, in, lane, false)) return;
}

// ---- tensormap.replace, tensormap.cp_fenceproxy

enum class MapField : std::uint32_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode,
};

/// False for a value that the field cannot have.
bool replace(TensorMapObject& map, MapField field, std::size_t dimension, std::uint64_t value) {
  switch (field) {
    case MapField::global_address:
      map.address = value;
      return true;
    case MapField::rank:  // Counted from zero.
      map.rank = static_cast<std::uint8_t>(value + 1);
      return value < kMaxTensorRank;
    case MapField::box_dim:
      map.box[dimension] = static_cast<std::uint16_t>(value);
      return value <= 256;
    case MapField::global_dim:
      map.last[dimension] = static_cast<std::uint32_t>(value - 1);
      return true;
    case MapField::global_stride:
      if (dimension >= map.stride_bytes.size()) return false;
      map.stride_bytes[dimension] = value;
      return true;
    case MapField::element_stride:
      map.element_stride[dimension] = static_cast<std::uint8_t>(value);
      return value <= 8;
    case MapField::elemtype: {
      // PTX has bf16, tf32 and tf32.ftz behind f64, and f32.ftz ahead of it, as TensorElement.
      map.element = static_cast<TensorElement>(value);
      return bytes_of(map.element) != 0;
    }
    case MapField::interleave_layout:
      return value == 0;
    case MapField::swizzle_mode:
      map.swizzle = static_cast<Swizzle>(value);
      return value <= 3;
    case MapField::fill_mode:
      map.fills_with_nan = static_cast<std::uint8_t>(value);
      return value <= 1;
  }
  return false;
}

/// op: base, dimension, new value. `more`: the field.
template <class T>
void execute_replace(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    std::byte* bytes = map_bytes(warp, in, lane, in.op[0]);
    if (bytes == nullptr) return;
    TensorMapObject map;
    std::memcpy(&map, bytes, sizeof map);
    if (map.magic != TensorMapObject::kMagic) return warp.fail(in, "these 128 bytes are no tensor map", lane);
    const Word dimension = warp.row(in.op[1])[lane];
    const std::uint64_t value = source_row<T>(warp, in.op[2])[lane];
    if (dimension >= kMaxTensorRank || !replace(map, static_cast<MapField>(in.more), dimension, value)) {
      return warp.fail(in, "the value " + std::to_string(value) + " is not possible there", lane);
    }
    std::memcpy(bytes, &map, sizeof map);
  }
}

/// op: target, source. aux0 is the target's mode.
void execute_map_copy(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const int lane = std::countr_zero(mask);
  const AccessMode to_mode = AccessMode::decoded(in.aux0);
  const std::byte* from = map_bytes(warp, in, lane, in.op[1]);
  if (from == nullptr) return;
  std::byte* to =
      resolve_lane(warp, in, lane, to_mode, address_in(warp, in.op[0], to_mode, in.more, lane), kTensorMapBytes);
  if (to != nullptr) std::memcpy(to, from, kTensorMapBytes);
}

// ---- Decoding

std::uint32_t take_rank(Form& form) {
  const std::string_view rank = form.take_one_of({"1d", "2d", "3d", "4d", "5d"});
  if (rank.empty()) form.unsupported("no number of dimensions");
  return static_cast<std::uint32_t>(rank[0] - '0');
}

/// True for the modes of four rows.
bool take_load_mode(Form& form, std::uint32_t rank) {
  form.take("tile");
  for (const std::string_view other : {"im2col", "im2col_no_offs", "im2col::w", "im2col::w::128"})
    if (form.take(other)) form.unsupported("only the tile mode");
  const bool by_rows = form.take("tile::gather4") || form.take("tile::scatter4");
  if (by_rows && rank != 2) form.unsupported("four rows of another tensor than a matrix");
  return by_rows;
}

/// op[1], the coordinates, aux1 and the low half of `immediate` from [map, {coordinates}].
void take_map(Form& form, const ptx::Operand& operand, std::uint32_t rank, bool by_rows) {
  if (operand.elements.size() != 2) form.unsupported("a tensor map and coordinates are expected");
  const auto& coordinates = operand.elements[1];
  const std::span<const ptx::Operand> each = coordinates.kind == ptx::Operand::Kind::vector
                                                 ? std::span<const ptx::Operand>(coordinates.elements)
                                                 : std::span<const ptx::Operand>(&coordinates, 1);
  if (each.size() != (by_rows ? kMaxTensorRank : rank)) form.unsupported("the number of coordinates does not fit");
  ptx::Operand base = operand;
  base.elements.resize(1);
  const AddressForm map = take_base(form, base, Where::generic, false);
  form.instruction().aux1 = map.mode.encoded() | rank << 8 | (by_rows ? kByRows : 0);
  form.instruction().immediate = map.offset & 0xffff'ffff;
  form.begin_list();
  for (const ptx::Operand& coordinate : each) form.list_source(coordinate, Type::s32);
  form.instruction().cache = form.new_cache();
}

}  // namespace

void decode_tensor_copy(Form& form) {
  const std::uint32_t rank = take_rank(form);
  const bool by_rows = take_load_mode(form, rank);
  const bool loads = form.take("shared::cluster") || form.take("shared::cta");
  const bool from_global = form.take("global");
  if (!from_global) form.unsupported("state spaces");
  // ".global.shared::cta" stores; the space of shared memory is taken already.
  const BulkEnd end = take_bulk_end(form);
  form.take("L2::cache_hint");
  if (!loads) form.unsupported("state spaces");
  if (end == BulkEnd::mbarrier) {
    const bool multicast = form.take("multicast::cluster");
    const AddressForm target = take_base(form, form.operand(0), Where::cluster, true);
    form.instruction().aux0 = target.mode.encoded();
    take_map(form, form.operand(1), rank, by_rows);
    form.raw(static_cast<std::uint32_t>(target.offset));
    take_completion_barrier(form, 2, multicast ? 3 : 0);
    return form.emit(execute_tensor_load, OpClass::bulk_copy);
  }
  const std::uint32_t reduction = form.take("reduce") ? take_reduction(form) + 1 : 0;
  const AddressForm source = take_base(form, form.operand(1), Where::shared, false);
  form.instruction().aux0 = source.mode.encoded();
  take_map(form, form.operand(0), rank, by_rows);
  form.raw(static_cast<std::uint32_t>(source.offset));
  take_completion_barrier(form, 0, 0);
  form.raw(reduction);
  form.emit(execute_tensor_store, OpClass::bulk_copy);
}

void decode_tensor_prefetch(Form& form) {
  const std::uint32_t rank = take_rank(form);
  const bool by_rows = take_load_mode(form, rank);
  if (!form.take("L2") || !form.take("global")) form.unsupported();
  form.take("L2::cache_hint");
  form.raw(0);
  take_map(form, form.operand(0), rank, by_rows);
  form.emit(execute_tensor_prefetch, OpClass::bulk_copy);
}

namespace {

void decode_replace(Form& form) {
  form.take("tile");
  const Where where = take_space(form);
  if (!form.take("b1024")) form.unsupported();
  const std::optional<MapField> field = take_enumerator<MapField>(form);
  if (!field) form.unsupported("no field");
  const Type type = form.type();
  const AddressForm address = take_base(form, form.operand(0), where, true);
  const bool has_dimension = form.operand_count() > 2;
  has_dimension ? form.source(1, Type::u32) : form.constant(0, Type::u32);
  const std::size_t value = has_dimension ? 2 : 1;
  form.source(value, type);
  form.instruction().aux1 = address.mode.encoded();
  form.instruction().immediate = address.offset;
  form.instruction().more = static_cast<std::uint32_t>(*field);
  form.instruction().cache = form.new_cache();
  form.emit(ptx::bits_of(type) == 64 ? execute_replace<std::uint64_t> : execute_replace<std::uint32_t>, OpClass::store);
}

void decode_map_copy(Form& form) {
  for (const std::string_view part : {"tensormap::generic", "sync", "aligned"}) form.take(part);
  take_memory_hints(form);
  if (!form.take("global") || !(form.take("shared::cta") || form.take("shared"))) form.unsupported("state spaces");
  const AddressForm target = take_base(form, form.operand(0), Where::global, true);
  const AddressForm source = take_base(form, form.operand(1), Where::shared, false);
  form.instruction().aux0 = target.mode.encoded();
  form.instruction().aux1 = source.mode.encoded();
  form.instruction().more = static_cast<std::uint32_t>(target.offset);
  form.instruction().immediate = source.offset;
  form.instruction().cache = form.new_cache();
  form.emit(execute_map_copy, OpClass::store);
}

void decode_tensormap(Form& form) {
  if (form.take("replace")) return decode_replace(form);
  if (form.take("cp_fenceproxy")) return decode_map_copy(form);
  form.unsupported();
}

}  // namespace

std::span<const Operation> tensor_operations() {
  static constexpr Operation kOperations[] = {{"tensormap", Operands::any, decode_tensormap}};
  return kOperations;
}

}  // namespace evo::vgpu

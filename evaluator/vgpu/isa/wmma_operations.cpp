#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/matrix_operations.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/observer.h"

// PTX ISA 9.0, 9.7.14.4: wmma.load, wmma.mma, wmma.store. The ISA leaves open which thread holds which element. Here a
// fragment is one or two fragments of mma.sync side by side, so that a wmma.mma is one or two mma.sync.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Role : std::uint32_t { a, b, c };

/// How a wmma shape is made of mma.sync tiles. m8n32 is computed as the transposed product, n32m8.
struct Tiling {
  int tiles = 1;            ///< Products for one wmma.mma.
  bool transposed = false;  ///< The tiles compute the transposed product.
  bool along_m = false;     ///< The tiles lie below each other; else side by side.
};
std::optional<Tiling> tiling_of(const MmaForm& wmma) {
  if (wmma.m == 16 && wmma.n == 16) return Tiling{2, false, false};
  if (wmma.m == 32 && wmma.n == 8) return Tiling{2, false, true};
  if (wmma.m == 8 && wmma.n == 32) return Tiling{2, true, true};
  if (wmma.m == 8 && wmma.n == 8) return Tiling{1, false, false};
  return std::nullopt;
}

/// One fragment of a shape as wmma.load and wmma.store see it; kept in Instruction::aux1.
struct Fragment {
  Role role : 2 = Role::a;
  std::uint32_t m : 6 = 16, n : 6 = 16;
  std::uint32_t bits : 7 = 16;              ///< Of an element.
  std::uint32_t registers_of_tile : 4 = 4;  ///< Of one mma.sync tile.
  std::uint32_t registers : 5 = 8;          ///< That PTX lists; those beyond the tiles' repeat them.
  bool column_major : 1 = false, unused : 1 = false;

  Tiling tiling() const {
    MmaForm form;
    form.m = m;
    form.n = n;
    return *tiling_of(form);
  }
  /// Which matrix of the tiles' product this is.
  Role tile_role() const {
    if (!tiling().transposed || role == Role::c) return role;
    return role == Role::a ? Role::b : Role::a;
  }
  /// The tiles of this matrix: A is shared by tiles side by side, B by those below each other.
  int tiles() const {
    const Tiling t = tiling();
    const Role r = tile_role();
    if (r == Role::c) return t.tiles;
    return (r == Role::a) == t.along_m ? t.tiles : 1;
  }
  int distinct_registers() const { return tiles() * registers_of_tile; }
  int elements_of_register() const { return bits >= 32 ? 1 : 32 / bits; }
};

struct Position {
  int row = 0;
  int column = 0;
};

/// The element that a lane holds in part `part` of register `reg`, in the matrix as wmma sees it. The layouts are those
/// of mma.sync (PTX ISA, figures of 9.7.14.5).
Position position_of(const Fragment& fragment, int lane, int reg, int part) {
  const int tile = reg / fragment.registers_of_tile, i = reg % fragment.registers_of_tile;
  const int group = lane / 4, thread = lane % 4, elements = fragment.elements_of_register();
  const Tiling tiling = fragment.tiling();
  const bool tall = tiling.tiles > 1;  // Tiles of 16 rows; m8n8 shapes have tiles of 8.
  Position at;
  switch (fragment.tile_role()) {
    case Role::a:
      at = {group + (tall ? i % 2 * 8 : 0), thread * elements + part + (tall ? i / 2 : i) * 4 * elements};
      break;
    case Role::b:
      at = {thread * elements + part + i * 4 * elements, group};
      break;
    case Role::c:
      at = elements == 2 ? Position{group + i * 8, thread * 2 + part}
                         : Position{group + (tall ? i / 2 * 8 : 0), thread * 2 + i % 2};
      break;
  }
  if (tiling.along_m) {
    at.row += fragment.tile_role() != Role::b ? tile * 16 : 0;
  } else {
    at.column += fragment.tile_role() != Role::a ? tile * 8 : 0;
  }
  return tiling.transposed ? Position{at.column, at.row} : at;
}

/// op: base, stride in elements, room for addresses. The list: the fragment's registers.
template <bool kStore>
void execute_transfer(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const Fragment fragment = std::bit_cast<Fragment>(in.aux1);
  AccessMode mode = AccessMode::decoded(in.aux0);
  const bool wide_base = mode.wide_base;
  mode.wide_base = true;
  const Place* places = warp.launch->kernel->places.data() + in.more;
  // Copied, because a destination may share the row of a source that is last read here.
  std::uint64_t bases[32];
  Word strides[32];
  for (int lane = 0; lane < 32; ++lane) {
    bases[lane] = wide_base ? source_row<std::uint64_t>(warp, in.op[0])[lane] : warp.row(in.op[0])[lane];
    strides[lane] = warp.row(in.op[1])[lane];
  }
  std::uint64_t* addresses = own_row<std::uint64_t>(warp, in.op[2]);
  const int elements = fragment.elements_of_register();
  // Elements of a register that are adjacent in memory move together; those of 4 bits and 1 always are.
  const Position first = position_of(fragment, 0, 0, 0), second = position_of(fragment, 0, 0, elements - 1);
  const bool together =
      elements > 1 && (fragment.column_major ? first.column == second.column : first.row == second.row);
  const int parts = together || elements == 1 ? 1 : elements;
  const auto bytes = static_cast<std::uint32_t>(together ? 4 : fragment.bits / 8);
  Touched touched;
  for (int reg = 0; reg < fragment.distinct_registers(); ++reg) {
    for (int part = 0; part < parts; ++part) {
      for (int lane = 0; lane < 32; ++lane) {
        const Position at = position_of(fragment, lane, reg, part);
        const std::uint64_t major = static_cast<std::uint64_t>(fragment.column_major ? at.column : at.row);
        const std::uint64_t minor = static_cast<std::uint64_t>(fragment.column_major ? at.row : at.column);
        addresses[lane] = bases[lane] + (major * strides[lane] + minor) * static_cast<std::uint64_t>(fragment.bits) / 8;
      }
      if (!resolve_at(warp, in, mask, mode, in.op[2], static_cast<std::uint64_t>(in.immediate), bytes, touched)) return;
      if (!kStore) observe_load(warp, in, mask, bytes, touched, true);
      if (kStore) observe_store(warp, in, mask, bytes, touched);
      for (int copy = reg; copy < fragment.registers; copy += fragment.distinct_registers()) {
        if (kStore && copy != reg) break;
        for (int lane = 0; lane < 32; ++lane) {
          std::byte* at = touched.at[lane];
          const auto word = [&](Place place) {
            return reinterpret_cast<std::byte*>(const_cast<Word*>(warp.row(place))) +
                   static_cast<std::size_t>(lane) * (fragment.bits == 64 ? 8 : 4) +
                   static_cast<std::size_t>(part) * bytes;
          };
          std::byte* held = word(places[copy]);
          kStore ? std::memcpy(at, held, bytes) : std::memcpy(held, at, bytes);
        }
      }
    }
  }
}

/// The mma.sync product of one tile.
MmaForm tile_form(MmaForm wmma) {
  const Tiling tiling = *tiling_of(wmma);
  if (tiling.transposed) std::swap(wmma.a, wmma.b);
  wmma.m = tiling.tiles > 1 ? 16 : 8;
  wmma.n = 8;
  wmma.by_fours = wmma.a == MmaType::tf32;
  return wmma;
}

void check_shape(Form& form, const MmaForm& wmma) {
  std::string why = "that shape";
  if (!tiling_of(wmma) || !mma_supported(tile_form(wmma), &why)) form.unsupported(why);
}

/// The types that a load or store does not name do not change the layout.
Fragment fragment_of(Form& form, Role role, MmaForm wmma, MmaType type) {
  if (role == Role::c) {
    wmma.accumulator = type;
    const bool integer = type == MmaType::s32;
    if (type == MmaType::f64) wmma.a = wmma.b = MmaType::f64;
    if (integer) wmma.a = wmma.b = wmma.k == 128 ? MmaType::b1 : wmma.k == 32 ? MmaType::s4 : MmaType::s8;
    if (type == MmaType::f32 && wmma.k == 8) wmma.a = wmma.b = MmaType::tf32;
  } else {
    wmma.a = wmma.b = type;
    const int bits = width_of(type);
    wmma.accumulator = bits == 64 ? MmaType::f64 : (bits < 16 ? MmaType::s32 : MmaType::f32);
  }
  check_shape(form, wmma);
  const MmaRegisters counts = mma_registers(tile_form(wmma));
  Fragment fragment;
  fragment.role = role;
  fragment.m = wmma.m;
  fragment.n = wmma.n;
  fragment.bits = width_of(type);
  const Role tile_role = fragment.tile_role();
  fragment.registers_of_tile = tile_role == Role::a ? counts.a : (tile_role == Role::b ? counts.b : counts.c);
  return fragment;
}

void decode_transfer(Form& form, bool store) {
  const std::string_view matrix = form.take_next();
  const Role role = matrix == "a" ? Role::a : (matrix == "b" ? Role::b : Role::c);
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
  const bool column_major = form.take("col");
  if (!column_major && !form.take("row")) form.unsupported("no layout");
  MmaForm wmma;
  take_mma_shape(form, wmma);
  const Where where = take_space(form);
  const MmaType type = take_mma_type(form);
  Fragment fragment = fragment_of(form, role, wmma, type);
  fragment.column_major = column_major;
  const auto registers = form.elements(store ? 1 : 0);
  fragment.registers = static_cast<int>(registers.size());
  if (registers.size() > 31 || fragment.registers % fragment.distinct_registers() != 0)
    form.unsupported("the number of registers does not fit");
  take_address(form, form.operand(store ? 0 : 1), where, store);
  const int rows = role == Role::b ? wmma.k : wmma.m, columns = role == Role::a ? wmma.k : wmma.n;
  const auto stride = static_cast<std::uint64_t>(column_major ? rows : columns);
  form.operand_count() > 2 ? form.source(2, Type::u32) : form.constant(stride, Type::u32);
  form.scratch(Type::u64);
  form.instruction().aux1 = std::bit_cast<std::uint32_t>(fragment);
  form.begin_list();
  const Type register_type = fragment.bits == 64 ? Type::b64 : Type::b32;
  for (const ptx::Operand& element : registers) {
    store ? form.list_source(element, register_type) : form.list_destination(element, register_type);
  }
  const int instructions = fragment.distinct_registers();
  form.emit(store ? execute_transfer<true> : execute_transfer<false>, store ? OpClass::store : OpClass::load,
            instructions);
}

bool names_one_of(std::span<const ptx::Operand> some, std::span<const ptx::Operand> others) {
  for (const ptx::Operand& one : some) {
    for (const ptx::Operand& other : others) {
      if (one.kind == ptx::Operand::Kind::reg && other.kind == one.kind && one.index == other.index) return true;
    }
  }
  return false;
}

void decode_product(Form& form) {
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
  // The layouts are those of the loads, and fragments are the same for both.
  for (int i = 0; i < 2; ++i) {
    if (form.take_one_of({"row", "col"}).empty()) form.unsupported("no layout");
  }
  MmaForm wmma;
  take_mma_bits(form, wmma);
  wmma.rounding = take_rounding(form);  // Products of f64 may have one.
  take_mma_shape(form, wmma);
  const MmaType d = take_mma_type(form);
  const MmaType second = take_mma_type(form);
  const bool half = d == MmaType::f16 || (d == MmaType::f32 && (second == MmaType::f16 || second == MmaType::f32));
  if (half) {  // Only the types of D and C are named.
    wmma.a = wmma.b = MmaType::f16;
    set_mma_sums(form, wmma, d, second);
  } else {
    wmma.a = second;
    wmma.b = take_mma_type(form);
    set_mma_sums(form, wmma, d, take_mma_type(form));
    wmma.saturate = form.take("satfinite");
  }
  check_shape(form, wmma);
  if (names_one_of(form.elements(0), form.elements(1)) || names_one_of(form.elements(0), form.elements(2)))
    form.unsupported("D in registers of A or B");
  const Tiling tiling = *tiling_of(wmma);
  const MmaForm tile = tile_form(wmma);
  const MmaRegisters counts = mma_registers(tile);
  const auto a = form.elements(tiling.transposed ? 2 : 1), b = form.elements(tiling.transposed ? 1 : 2);
  const auto part = [&](std::span<const ptx::Operand> registers, int index, int count) {
    const auto begin = static_cast<std::size_t>(index * count);
    if (begin + static_cast<std::size_t>(count) > registers.size())
      form.unsupported("the number of registers does not fit");
    return registers.subspan(begin, static_cast<std::size_t>(count));
  };
  for (int i = 0; i < tiling.tiles; ++i) {
    if (i > 0) form.begin_another();
    emit_mma(form, tile,
             {part(form.elements(0), i, counts.d), part(a, tiling.along_m ? i : 0, counts.a),
              part(b, tiling.along_m ? 0 : i, counts.b), part(form.elements(3), i, counts.c)});
  }
}

void decode_wmma(Form& form) {
  if (form.take("load")) return decode_transfer(form, false);
  if (form.take("store")) return decode_transfer(form, true);
  if (form.take("mma")) return decode_product(form);
  form.unsupported();
}

}  // namespace

std::span<const Operation> wmma_operations() {
  static constexpr Operation kOperations[] = {
      {"wmma", Operands::any, decode_wmma},
  };
  return kOperations;
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/isa/matrix_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/observer.h"

// PTX ISA 9.0, 9.7.14.5: mma.sync, ldmatrix, stmatrix.
namespace evo::vgpu {

bool gather_whole_warp(Warp& warp, const Instruction& in, std::uint32_t& mask) {
  if (warp.live() != kAllLanes) {
    warp.fail(in, "not all 32 lanes of the warp take part: some have exited or do not exist");
    return false;
  }
  return warp.gather(in, mask, kAllLanes);
}

namespace {

using ptx::Type;

// ---- ldmatrix and stmatrix: 8x8 matrices of 16-bit elements; lane 8i + r has the address of row r of matrix
// i.

using MatrixRows = std::uint16_t[8][8];

EVO_INLINE void read_matrix(MatrixRows& rows, const Touched& touched, int matrix) {
  for (int r = 0; r < 8; ++r) std::memcpy(rows[r], touched.at[8 * matrix + r], 16);
}

template <int kMatrices, bool kTransposed>
struct LoadMatrix {
  /// op: the destinations, then the base.
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    if (!gather_whole_warp(warp, in, mask)) return;
    constexpr std::uint32_t kAddressing = kMatrices == 4 ? kAllLanes : (1u << 8 * kMatrices) - 1;
    Touched touched;
    if (!resolve(warp, in, kAddressing, in.op[kMatrices], 16, touched)) return;
    observe_load(warp, in, kAddressing, 16, touched, true);
    for (int m = 0; m < kMatrices; ++m) {
      Word* d = warp.own(in.op[static_cast<std::size_t>(m)]);
      if constexpr (kTransposed) {
        MatrixRows rows;
        read_matrix(rows, touched, m);
        for (int lane = 0; lane < 32; ++lane) {
          const int pair = lane % 4 * 2;
          d[lane] = rows[pair][lane / 4] | static_cast<Word>(rows[pair + 1][lane / 4]) << 16;
        }
      } else {
        for (int r = 0; r < 8; ++r) std::memcpy(d + 4 * r, touched.at[8 * m + r], 16);
      }
    }
  }
};

template <int kMatrices, bool kTransposed>
struct StoreMatrix {
  /// op: the base, then the sources.
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    if (!gather_whole_warp(warp, in, mask)) return;
    constexpr std::uint32_t kAddressing = kMatrices == 4 ? kAllLanes : (1u << 8 * kMatrices) - 1;
    Touched touched;
    if (!resolve(warp, in, kAddressing, in.op[0], 16, touched)) return;
    for (int m = 0; m < kMatrices; ++m) {
      const Word* a = warp.row(in.op[static_cast<std::size_t>(m) + 1]);
      MatrixRows rows;
      for (int lane = 0; lane < 32; ++lane) {
        const auto low = static_cast<std::uint16_t>(a[lane]);
        const auto high = static_cast<std::uint16_t>(a[lane] >> 16);
        const int major = lane / 4, pair = lane % 4 * 2;
        (kTransposed ? rows[pair][major] : rows[major][pair]) = low;
        (kTransposed ? rows[pair + 1][major] : rows[major][pair + 1]) = high;
      }
      for (int r = 0; r < 8; ++r) std::memcpy(touched.at[8 * m + r], rows[r], 16);
    }
    observe_store(warp, in, kAddressing, 16, touched);
  }
};

template <template <int, bool> class Body>
Execute choose_matrices(Form& form, std::size_t matrices, bool transposed) {
  return with_flags(
      [&](auto trans) {
        return with_constant<1, 2, 4>(static_cast<int>(matrices),
                                      [&](auto count) { return Compiled<Body<count, trans>>::choose(form.simd()); });
      },
      transposed);
}

// ---- Matrices of bytes: a row is 16 bytes of memory, from which elements of six or four bits are unpacked.

/// An element of a row, zero-extended.
Word element_of(const std::byte* row, int column, int bits) {
  Word two_bytes = 0;
  const int first = column * bits;
  std::memcpy(&two_bytes, row + first / 8, first / 8 < 15 ? 2 : 1);
  return two_bytes >> first % 8 & ((1u << bits) - 1);
}

/// op: the destinations, then the base. aux1: bits of an element, and above 8 bits the number of matrices. kSquare:
/// m16n16.trans, two registers a matrix; otherwise m8n16, of one.
template <bool kSquare>
void load_byte_matrices(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  constexpr int kRegisters = kSquare ? 2 : 1, kRows = 8 * kRegisters;
  const int bits = static_cast<int>(in.aux1 & 0xffu), matrices = static_cast<int>(in.aux1 >> 8);
  const std::uint32_t addressing = kAllLanes >> (32 - kRows * matrices);
  Touched touched;
  if (!resolve(warp, in, addressing, in.op[static_cast<std::size_t>(kRegisters * matrices)], 16, touched)) return;
  observe_load(warp, in, addressing, static_cast<std::uint32_t>(2 * bits), touched, true);
  for (int reg = 0; reg < kRegisters * matrices; ++reg) {
    const std::byte* const* rows = touched.at + reg / kRegisters * kRows;
    Word result[32] = {};
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4, column = lane % 4 * 4 + i;  // Of the fragment.
        const Word element =
            kSquare ? element_of(rows[column], row + reg % 2 * 8, bits) : element_of(rows[row], column, bits);
        result[lane] |= element << 8 * i;
      }
    std::memcpy(warp.own(in.op[static_cast<std::size_t>(reg)]), result, sizeof result);
  }
}

/// m16n8.trans: the columns of the matrices become rows of memory. op: the base, then the sources. aux1: their number.
void store_byte_matrices(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const std::uint32_t addressing = kAllLanes >> (32 - 8 * in.aux1);
  Touched touched;
  if (!resolve(warp, in, addressing, in.op[0], 16, touched)) return;
  for (std::size_t matrix = 0; matrix < in.aux1; ++matrix) {
    const Word* a = warp.row(in.op[matrix + 1]);
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        touched.at[8 * matrix + column][row] = static_cast<std::byte>(a[lane] >> 8 * i);
      }
  }
  observe_store(warp, in, addressing, 16, touched);
}

void decode_byte_matrices(Form& form, bool loads) {
  const std::string_view shape = form.take_one_of({"m8n16", "m16n16", "m16n8"});
  const auto matrices = take_value<std::size_t>(form, {{"x1", 1}, {"x2", 2}, {"x4", 4}}, 0);
  const bool square = shape == "m16n16";
  if (matrices == 0 || loads == (shape == "m16n8") || (square && matrices == 4)) form.unsupported("the shape");
  if (form.take("trans") == (shape == "m8n16")) form.unsupported(".trans");
  const Where where = take_space(form);
  const bool unpacks = form.take("b8x16");
  const auto bits = unpacks ? take_value<std::uint32_t>(form, {{"b6x16_p32", 6}, {"b4x16_p64", 4}}, 0) : 8;
  if (bits == 0 || (!unpacks && !form.take("b8")) || (unpacks ? !loads : shape == "m8n16"))
    form.unsupported("the type");
  const auto elements = form.elements(loads ? 0 : 1);
  if (elements.size() != matrices * (square ? 2 : 1)) form.unsupported("the number of registers does not fit");
  if (!loads) take_address(form, form.operand(0), where, true);
  for (const ptx::Operand& element : elements)
    loads ? form.destination(element, Type::b32) : form.source(element, Type::b32);
  if (loads) take_address(form, form.operand(1), where, false);
  const auto count = static_cast<std::uint32_t>(matrices);
  form.instruction().aux1 = loads ? count << 8 | bits : count;
  form.emit(!loads   ? store_byte_matrices
            : square ? load_byte_matrices<true>
                     : load_byte_matrices<false>,
            loads ? OpClass::matrix_load : OpClass::matrix_store);
}

void decode_matrix_transfer(Form& form) {
  const bool loads = form.name() == "ldmatrix";
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
  if (!form.take("m8n8")) return decode_byte_matrices(form, loads);
  const auto matrices = take_value<std::size_t>(form, {{"x1", 1}, {"x2", 2}, {"x4", 4}}, 0);
  const bool transposed = form.take("trans");
  const Where where = take_space(form);
  if (!form.take("b16")) form.unsupported("only .b16");
  const auto elements = form.elements(loads ? 0 : 1);
  if (elements.size() != matrices || matrices == 0) form.unsupported("the number of registers does not fit");
  if (!loads) take_address(form, form.operand(0), where, true);
  for (const ptx::Operand& element : elements)
    loads ? form.destination(element, Type::b32) : form.source(element, Type::b32);
  if (loads) take_address(form, form.operand(1), where, false);
  form.emit(loads ? choose_matrices<LoadMatrix>(form, matrices, transposed)
                  : choose_matrices<StoreMatrix>(form, matrices, transposed),
            loads ? OpClass::matrix_load : OpClass::matrix_store);
}

// ---- mma.sync

/// Lane 4 i + t holds elements 2 t and 2 t + 1 of row i. op: the transposed matrix, the matrix.
void transpose_matrix(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const Word* a = warp.row(in.op[1]);
  Word result[32];
  for (int lane = 0; lane < 32; ++lane) {
    const auto element = [&](int row) { return a[4 * row + lane / 8] >> 16 * (lane / 4 % 2) & 0xffffu; };
    result[lane] = element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16;
  }
  std::memcpy(warp.own(in.op[0]), result, sizeof result);
}

void decode_movmatrix(Form& form) {
  for (const std::string_view part : {"sync", "aligned", "m8n8", "trans", "b16"})
    if (!form.take(part)) form.unsupported("only .sync.aligned.m8n8.trans.b16");
  form.destination(0, Type::b32);
  form.source(1, Type::b32);
  form.emit(transpose_matrix, OpClass::shuffle);
}

/// Whether a byte's number can be one where `blocks` bytes are taken, and a thread's one where `threads` hold words.
bool can_select(std::uint64_t byte, std::uint64_t thread, int blocks, std::uint64_t threads) {
  return byte < 4 && byte % static_cast<std::uint64_t>(blocks) == 0 && thread < threads;
}
constexpr std::uint64_t kScaleThreadsA = 2, kScaleThreadsB = 4;

/// Of each four lanes, two hold the scales of A's rows g and g + 8, and one those of B's column g, where g is the
/// number of the four (PTX ISA 9.0, 9.7.14.3.1). The places are those of MmaFragments::scales.
bool gather_scales(Warp& warp, const Instruction& in, const MmaForm& form, const Place* place, MmaScales& scales) {
  const auto take = [&](std::size_t first, std::uint64_t threads, auto& codes, auto lane_of) {
    const Word* words = warp.row(place[first]);
    const Word byte = warp.row(place[first + 1])[0] & 0xffffu, thread = warp.row(place[first + 2])[0] & 0xffffu;
    if (!can_select(byte, thread, form.scale_blocks, threads)) {
      warp.fail(in, fmt::format("no scales are at byte {} of thread {}", byte, thread));
      return false;
    }
    for (std::size_t i = 0; i < codes.size(); ++i)
      for (std::size_t block = 0; block < static_cast<std::size_t>(form.scale_blocks); ++block)
        codes[i][block] = static_cast<std::uint8_t>(words[lane_of(i, thread)] >> 8 * (byte + block));
    return true;
  };
  return take(0, kScaleThreadsA, scales.a,
              [](std::size_t row, Word thread) { return row % 8 * 4 + 2 * thread + row / 8; }) &&
         take(3, kScaleThreadsB, scales.b, [](std::size_t column, Word thread) { return column * 4 + thread; });
}

/// immediate: the form. The list: D's registers, then A's, B's, C's, the metadata and the scales.
void execute_mma(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const Kernel& kernel = *warp.launch->kernel;
  const MmaForm& form = kernel.mma_forms[static_cast<std::size_t>(in.immediate)];
  const MmaRegisters counts = mma_registers(form);
  const Place* place = kernel.places.data() + in.more;
  MmaOperands operands;
  for (int i = 0; i < counts.d; ++i) operands.d[static_cast<std::size_t>(i)] = warp.own(*place++);
  for (int i = 0; i < counts.a; ++i) operands.a[static_cast<std::size_t>(i)] = warp.row(*place++);
  for (int i = 0; i < counts.b; ++i) operands.b[static_cast<std::size_t>(i)] = warp.row(*place++);
  for (int i = 0; i < counts.c; ++i) operands.c[static_cast<std::size_t>(i)] = warp.row(*place++);
  if (form.sparse) operands.metadata = warp.row(*place++);
  MmaScales scales;
  if (form.scale_blocks > 0) {
    if (!gather_scales(warp, in, form, place, scales)) return;
    operands.scales = &scales;
  }
  mma_sync(form, warp.launch->numerics, operands);
}

/// mma.sp: the metadata and which threads hold it.
std::span<const ptx::Operand> take_sparsity(Form& form, MmaForm& mma) {
  mma.sparse = true;
  const ptx::Operand& selector = form.operand(5);
  // Where all four threads hold metadata there is nothing to select.
  const bool one_holds =
      mma.k * (mma.a == MmaType::tf32 ? 2 : 1) / (mma.a == MmaType::s4 || mma.a == MmaType::u4 ? 8 : 4) == 4;
  if (selector.kind != ptx::Operand::Kind::integer || selector.bits > (one_holds ? 3u : 1u))
    form.unsupported("the sparsity selector");
  mma.selector = static_cast<int>(selector.bits);
  return form.elements(4);
}

std::string_view take_layout(Form& form) {
  const std::string_view layout = form.take_next();
  if (layout != "row" && layout != "col") form.unsupported("no layout");
  return layout;
}

/// .kind and .scale_vec.
void take_kind(Form& form, MmaForm& mma) {
  const std::string_view kind = form.take_one_of({"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  mma.narrow_kind = kind.ends_with("f8f6f4");
  mma.packed = kind.starts_with("kind::mxf4");
  const bool scaled = form.take("block_scale");
  if (scaled != kind.starts_with("kind::mx")) form.unsupported(scaled ? "no scales of this kind" : "no .block_scale");
  if (!scaled) return;
  const int otherwise = kind == "kind::mxf8f6f4" ? 1 : kind == "kind::mxf4" ? 2 : 0;
  mma.scale_blocks =
      take_value<int>(form, {{"scale_vec::1X", 1}, {"scale_vec::2X", 2}, {"scale_vec::4X", 4}}, otherwise);
  const bool fits = kind == "kind::mxf4nvf4" ? mma.scale_blocks >= 2 : mma.scale_blocks == otherwise;
  if (!fits) form.unsupported("the number of scales");
}

/// The type of the scales, and their operands, which begin at operand `first`.
std::array<const ptx::Operand*, 6> take_scales(Form& form, MmaForm& mma, std::size_t first) {
  const std::optional<ScaleType> type = take_enumerator<ScaleType>(form);
  if (!type || (*type == ScaleType::ue4m3) != (mma.scale_blocks == 4)) form.unsupported("the type of the scales");
  mma.scale_type = *type;
  std::array<const ptx::Operand*, 6> all{};
  for (const std::size_t side : {0, 1}) {
    const auto selectors = form.elements(first + 2 * side + 1);
    if (selectors.size() != 2) form.unsupported("the selectors of the scales");
    const bool constant =
        std::ranges::all_of(selectors, [](const ptx::Operand& one) { return one.kind == ptx::Operand::Kind::integer; });
    if (constant && !can_select(selectors[0].bits, selectors[1].bits, mma.scale_blocks,
                                side == 0 ? kScaleThreadsA : kScaleThreadsB))
      form.unsupported("the selectors of the scales");
    all[3 * side] = &form.operand(first + 2 * side);
    all[3 * side + 1] = &selectors[0];
    all[3 * side + 2] = &selectors[1];
  }
  return all;
}

void decode_mma(Form& form) {
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
  MmaForm mma;
  const bool sparse = form.take("sp::ordered_metadata") || form.take("sp");
  take_kind(form, mma);
  take_mma_shape(form, mma);
  mma.a_by_columns = take_layout(form) == "col";
  mma.b_by_rows = take_layout(form) == "row";
  mma.saturate = form.take("satfinite");
  mma.rounding = take_rounding(form);
  const MmaType d = take_mma_type(form);
  mma.a = take_mma_type(form);
  mma.b = take_mma_type(form);
  set_mma_sums(form, mma, d, take_mma_type(form));
  take_mma_bits(form, mma);
  if ((mma.a_by_columns || mma.b_by_rows) && !mma.of_quad_pairs()) form.unsupported("only .row.col");
  MmaFragments fragments{form.elements(0), form.elements(1), form.elements(2), form.elements(3)};
  if (sparse) fragments.metadata = take_sparsity(form, mma);
  if (mma.scale_blocks > 0) fragments.scales = take_scales(form, mma, sparse ? 6 : 4);
  emit_mma(form, mma, fragments);
}

}  // namespace

MmaType take_mma_type(Form& form) {
  const std::string_view name = form.take_next();
  if (const std::optional<MmaType> type = enumerator_named<MmaType>(name)) return *type;
  form.unsupported(name.empty() ? "a type is missing" : "type ." + std::string(name));
}

void take_mma_bits(Form& form, MmaForm& mma) {
  const std::string_view operation = form.take_one_of({"xor", "and"});
  mma.exclusive_or = operation == "xor";
  if (!operation.empty() && !form.take("popc")) form.unsupported("no .popc");
}

void set_mma_sums(Form& form, MmaForm& mma, MmaType d, MmaType c) {
  const bool mixed = d != c;
  const auto is_float = [](MmaType type) { return type == MmaType::f16 || type == MmaType::f32; };
  if (mixed && (mma.a != MmaType::f16 || !is_float(c) || !is_float(d))) form.unsupported("C and D of different types");
  mma.accumulator = mixed ? MmaType::f32 : d;
  mma.half_c = mixed && c == MmaType::f16;
  mma.half_d = mixed && d == MmaType::f16;
}

ProductShape take_product_shape(Form& form) {
  const std::string_view text = form.take_next();
  const auto number = [&](char letter) {
    const auto at = text.find(letter);
    int value = 0;
    if (at != std::string_view::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
    return value;
  };
  return {text, number('m'), number('n'), number('k')};
}

void take_mma_shape(Form& form, MmaForm& mma) {
  const ProductShape shape = take_product_shape(form);
  mma.m = shape.m;
  mma.n = shape.n;
  mma.k = shape.k;
}

void emit_mma(Form& form, const MmaForm& mma, const MmaFragments& registers) {
  std::string why;
  if (!mma_supported(mma, &why)) form.unsupported(why);
  if (mma.half_d && !mma.half_c && mma.of_quad_pairs()) form.unsupported("D in f16, C in f32");
  const MmaRegisters counts = mma_registers(mma);
  const Type operand_type = mma.a == MmaType::f64 ? Type::b64 : Type::b32;
  const Type accumulator_type = mma.accumulator == MmaType::f64 ? Type::b64 : Type::b32;
  const auto check = [&](std::span<const ptx::Operand> elements, int wanted) {
    if (static_cast<int>(elements.size()) != wanted) form.unsupported("the number of registers does not fit");
  };
  check(registers.d, counts.d);
  check(registers.a, counts.a);
  check(registers.b, counts.b);
  check(registers.c, counts.c);
  check(registers.metadata, mma.sparse ? 1 : 0);
  form.begin_list();
  for (const ptx::Operand& element : registers.d) form.list_destination(element, accumulator_type);
  for (const ptx::Operand& element : registers.a) form.list_source(element, operand_type);
  for (const ptx::Operand& element : registers.b) form.list_source(element, operand_type);
  for (const ptx::Operand& element : registers.c) form.list_source(element, accumulator_type);
  for (const ptx::Operand& element : registers.metadata) form.list_source(element, Type::b32);
  for (std::size_t i = 0; mma.scale_blocks > 0 && i < registers.scales.size(); ++i)
    form.list_source(*registers.scales[i], i % 3 == 0 ? Type::b32 : Type::b16);
  auto& forms = form.builder().kernel().mma_forms;
  form.instruction().immediate = static_cast<std::int64_t>(forms.size());
  forms.push_back(mma);
  form.mma(mma);
  form.emit(execute_mma, OpClass::matrix_product);
}

std::span<const Operation> matrix_operations() {
  static constexpr Operation kOperations[] = {
      {"ldmatrix", Operands::any, decode_matrix_transfer},
      {"stmatrix", Operands::any, decode_matrix_transfer},
      {"movmatrix", Operands::any, decode_movmatrix},
      {"mma", Operands::any, decode_mma},
  };
  return kOperations;
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/isa/matrix_operations.h"

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

void decode_matrix_transfer(Form& form) {
  const bool loads = form.name() == "ldmatrix";
  if (!form.take("sync") || !form.take("aligned") || !form.take("m8n8")) form.unsupported("only .sync.aligned.m8n8");
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

/// immediate: the form. The list: D's registers, then A's, B's, C's and the metadata.
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

void decode_mma(Form& form) {
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
  MmaForm mma;
  const bool sparse = form.take("sp::ordered_metadata") || form.take("sp");
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
  const auto metadata = sparse ? take_sparsity(form, mma) : std::span<const ptx::Operand>();
  emit_mma(form, mma, {form.elements(0), form.elements(1), form.elements(2), form.elements(3), metadata});
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

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/matrix_operations.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/isa/tcgen05_operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/cluster.h"

// PTX ISA 9.0, 9.7.16.7 and 9.7.16.8: tcgen05.alloc, dealloc, relinquish_alloc_permit, ld, st, wait, fence.
namespace evo::vgpu {
namespace {

using ptx::Type;

/// "the tcgen05.mma in line 12", and what a thread has to do before it may go on.
std::string described_operation(const Kernel& kernel, const TensorOperation& operation) {
  const std::uint32_t line = kernel.line_of(*operation.issued_in);
  std::string text = "the " + kernel.opcode_at(kernel.index_of(*operation.issued_in));
  if (line != 0) text += fmt::format(" in line {}", line);
  if (operation.kind == TensorOperation::Kind::load) return text + ", which has not been waited for (tcgen05.wait::ld)";
  if (operation.kind == TensorOperation::Kind::store)
    return text + ", which has not been waited for (tcgen05.wait::st)";
  return text + (operation.committed ? ", which has not been waited for (at the mbarrier of its tcgen05.commit)"
                                     : ", which has not been committed (tcgen05.commit)");
}

}  // namespace

bool may_begin(Warp& warp, const Instruction& in, int lane, TensorMemory& memory, const TensorOperation& operation) {
  const auto is_allocated = [&](const TensorRegion& region) {
    const auto outside = region.columns == 0 ? std::nullopt : memory.outside(region);
    if (!outside) return true;
    warp.fail(in,
              fmt::format("column {} of tensor memory is not allocated ({} are used)", *outside, region.described()),
              lane);
    return false;
  };
  if (!is_allocated(operation.writes) || !std::ranges::all_of(operation.reads, is_allocated)) return false;
  const TensorOperation* other = memory.in_the_way_of(operation);
  if (other == nullptr) return true;
  const TensorRegion& used =
      operation.reads.empty() || operation.writes.columns != 0 ? operation.writes : operation.reads.front();
  warp.fail(
      in,
      fmt::format("uses tensor memory ({}) of {}", used.described(), described_operation(*warp.launch->kernel, *other)),
      lane);
  return false;
}

std::array<Block*, 2> blocks_of(Warp& warp, const Instruction& in, int lane, int blocks) {
  Block& own = *warp.block;
  if (blocks == 1) return {&own, nullptr};
  const auto& all = own.cluster->blocks;
  const std::uint32_t other = own.rank ^ 1u;
  if (other >= all.size() || all[other]->live == 0) {
    warp.fail(in,
              fmt::format(".cta_group::2 needs the pair's other block, of rank {} in the cluster, which {}", other,
                          other >= all.size() ? "does not exist" : "has ended"),
              lane);
    return {nullptr, nullptr};
  }
  return {all[own.rank & ~1u].get(), all[own.rank | 1u].get()};
}

std::uint64_t next_operation(const Warp& warp) {
  return ++warp.launch->tensor_operations;
}

int take_block_group(Form& form) {
  const std::string_view group = form.take_one_of({"cta_group::1", "cta_group::2"});
  if (group.empty()) form.unsupported(".cta_group::1 or .cta_group::2 is needed");
  const int blocks = group.back() - '0';
  int& of_kernel = form.builder().kernel().tensor_blocks;
  if (of_kernel != 0 && of_kernel != blocks)
    form.unsupported("all tcgen05 instructions of a kernel need one .cta_group");
  of_kernel = blocks;
  return blocks;
}

std::uint32_t take_tensor_address(Form& form, const ptx::Operand& operand, bool in_list) {
  if (operand.kind != ptx::Operand::Kind::address || operand.elements.size() != 1)
    form.unsupported("an address of tensor memory in brackets is expected");
  in_list ? form.list_source(operand.elements[0], Type::b32) : form.source(operand.elements[0], Type::b32);
  return static_cast<std::uint32_t>(operand.offset);
}

namespace {

// ---- Columns

constexpr std::uint32_t kLeastTensorColumns = 32;

/// How many columns an instruction names: the same in all lanes, and a number that there can be.
std::optional<std::uint32_t> columns_in(Warp& warp, const Instruction& in, Place place) {
  const std::uint32_t* row = warp.row(place);
  for (int lane = 1; lane < 32; ++lane) {
    if (row[lane] == row[0]) continue;
    warp.fail(in, fmt::format("lanes 0 and {} name {} and {} columns", lane, row[0], row[lane]), lane);
    return std::nullopt;
  }
  if (std::has_single_bit(row[0]) && row[0] >= kLeastTensorColumns && row[0] <= kTensorColumns) return row[0];
  warp.fail(in, fmt::format("{} columns: a power of two from {} to {} is needed", row[0], kLeastTensorColumns,
                            kTensorColumns));
  return std::nullopt;
}

/// op: base, columns. aux1: blocks.
void allocate_columns(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const auto columns = columns_in(warp, in, in.op[1]);
  if (!columns) return;
  if (in.aux1 == 2 && blocks_of(warp, in, 0, 2)[0] == nullptr) return;
  TensorMemory& memory = warp.block->tensor_memory;
  if (!memory.may_allocate) return warp.fail(in, "the block has given up allocation (relinquish_alloc_permit)");
  const auto first = memory.allocate(*columns, warp.index, in);
  if (!first) {
    warp.launch->async.kind = AsyncAction::Kind::parked;
    return warp.wait_outside(in, mask, Split::State::waits_for_columns, *columns);
  }
  Touched touched;
  if (!resolve(warp, in, 1, in.op[0], sizeof *first, touched)) return;
  const bool changed = std::memcmp(touched.at[0], &*first, sizeof *first) != 0;
  std::memcpy(touched.at[0], &*first, sizeof *first);
  if (warp.launch->observer != nullptr)
    warp.launch->observer->store(warp, in, 1, AccessMode::decoded(in.aux0), sizeof *first, touched, changed ? 1 : 0);
}

/// op: address, columns.
void free_tensor_columns(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const auto columns = columns_in(warp, in, in.op[1]);
  if (!columns) return;
  const TensorAddress address = TensorAddress::decoded(warp.row(in.op[0])[0]);
  TensorMemory& memory = warp.block->tensor_memory;
  TensorOperation end;
  end.kind = TensorOperation::Kind::store;
  end.writes = {address.column, *columns, {}};
  end.writes.add_lanes(0, kTensorLanes);
  if (const TensorOperation* other = memory.in_the_way_of(end)) {
    return warp.fail(in, fmt::format("frees tensor memory ({}) of {}", end.writes.described(),
                                     described_operation(*warp.launch->kernel, *other)));
  }
  if (address.lane != 0 || !memory.release(address.column, *columns)) {
    return warp.fail(in, fmt::format("no allocation has {} columns from lane {}, column {} of tensor memory", *columns,
                                     address.lane, address.column));
  }
  ++warp.launch->progress;
  for (std::uint32_t awaited = kLeastTensorColumns; awaited <= kTensorColumns; awaited *= 2)
    warp.block->wake(Split::State::waits_for_columns, awaited);
}

void relinquish_permit(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  warp.block->tensor_memory.may_allocate = false;
}

// ---- Loads and stores

/// How a warp's registers lie in tensor memory; Instruction::aux0.
enum class TensorDataShape : std::uint32_t { d32x32b, d16x64b, d16x128b, d16x256b, d16x32bx2 };
constexpr std::array<std::string_view, 5> kTensorShapes = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};

struct TensorCell {
  std::uint32_t lane = 0;    ///< From the address on.
  std::uint32_t column = 0;  ///< Likewise. Of 16-bit elements: among pairs of columns.
  bool second = false;       ///< In the second half of 16x32bx2.
};

TensorCell cell_of(TensorDataShape shape, std::uint32_t thread, std::uint32_t reg) {
  const std::uint32_t row = thread / 4, column = thread % 4;
  switch (shape) {
    case TensorDataShape::d32x32b:
      return {thread, reg};
    case TensorDataShape::d16x64b:
      return {row + 8 * (thread % 2), 2 * reg + thread / 2 % 2};
    case TensorDataShape::d16x128b:
      return {row + 8 * (reg % 2), 4 * (reg / 2) + column};
    case TensorDataShape::d16x256b:
      return {row + 8 * (reg / 2 % 2), 8 * (reg / 4) + 2 * column + reg % 2};
    case TensorDataShape::d16x32bx2:
      break;
  }
  return {thread % 16, reg, thread >= 16};
}

/// A load or store: its form stands in aux0 (shape, then 16-bit elements), aux1 (registers) and immediate (the address'
/// offset, then that of the second half).
struct TensorTransfer {
  TensorDataShape shape;
  bool halves;  ///< Two 16-bit elements of neighbouring columns share a register.
  std::uint32_t registers;
  std::uint32_t second;
  TensorAddress base;

  std::uint32_t columns() const {
    const std::uint32_t columns = cell_of(shape, 31, registers - 1).column + 1;
    return halves ? 2 * columns : columns;
  }
};

/// Checks the address, which all lanes must agree on, and the lanes that the warp reaches.
std::optional<TensorTransfer> transfer_of(Warp& warp, const Instruction& in) {
  const std::uint32_t* row = warp.row(in.op[0]);
  for (int lane = 1; lane < 32; ++lane) {
    if (row[lane] == row[0]) continue;
    warp.fail(in, fmt::format("the addresses of lanes 0 and {} differ: {:#x} and {:#x}", lane, row[0], row[lane]),
              lane);
    return std::nullopt;
  }
  const auto packed = static_cast<std::uint64_t>(in.immediate);
  const TensorTransfer transfer{static_cast<TensorDataShape>(in.aux0 & 0xffu), (in.aux0 >> 8) != 0, in.aux1,
                                static_cast<std::uint32_t>(packed >> 32),
                                TensorAddress::decoded(row[0] + static_cast<std::uint32_t>(packed))};
  const std::uint32_t first = warp.index % 4 * kQuarterLanes;
  const bool whole = transfer.shape == TensorDataShape::d32x32b;
  if (transfer.base.lane == first || (!whole && transfer.base.lane == first + 16)) return transfer;
  warp.fail(in, fmt::format("warp {} reaches lanes {} to {} of tensor memory, the quarter of its place in the "
                            "warpgroup; the address has lane {}",
                            warp.index, first, first + kQuarterLanes - 1, transfer.base.lane));
  return std::nullopt;
}

/// The regions of a transfer: two of 16x32bx2.
std::vector<TensorRegion> transfer_regions(const TensorTransfer& transfer) {
  TensorRegion region{transfer.base.column, transfer.columns(), {}};
  region.add_lanes(transfer.base.lane, transfer.shape == TensorDataShape::d32x32b ? 32 : 16);
  std::vector<TensorRegion> regions = {region};
  if (transfer.shape == TensorDataShape::d16x32bx2) {
    region.column += transfer.second;
    regions.push_back(region);
  }
  return regions;
}

std::uint32_t column_in(const TensorTransfer& transfer, const TensorCell& cell) {
  return transfer.base.column + (transfer.halves ? 2 * cell.column : cell.column) + (cell.second ? transfer.second : 0);
}

/// The list: results.
void load_from_tensor_memory(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const auto transfer = transfer_of(warp, in);
  if (!transfer) return;
  TensorMemory& memory = warp.block->tensor_memory;
  TensorOperation operation;
  operation.kind = TensorOperation::Kind::load;
  operation.issued_by = &warp;
  operation.issued_in = &in;
  operation.reads = transfer_regions(*transfer);
  if (!may_begin(warp, in, -1, memory, operation)) return;
  if (Observer* const observer = warp.launch->observer) {
    for (const TensorRegion& region : operation.reads)
      if (const auto column = memory.unwritten(region))
        observer->found(warp, in, FindingKind::uninitialised,
                        fmt::format("reads column {} of tensor memory ({} are read), which nobody has written", *column,
                                    region.described()));
  }
  const Place* const places = warp.launch->kernel->places.data() + in.more;
  for (std::uint32_t reg = 0; reg < transfer->registers; ++reg) {
    std::uint32_t* const to = warp.own(places[reg]);
    for (std::uint32_t thread = 0; thread < 32; ++thread) {
      const TensorCell cell = cell_of(transfer->shape, thread, reg);
      const std::uint32_t lane = transfer->base.lane + cell.lane, column = column_in(*transfer, cell);
      to[thread] = memory.read(lane, column);
      if (transfer->halves) to[thread] = (to[thread] & 0xffffu) | memory.read(lane, column + 1) << 16;
    }
  }
  warp.products.begin_load(warp.launch->kernel->product_registers, warp.launch->kernel->index_of(in));
  operation.number = next_operation(warp);
  memory.begin(std::move(operation));
}

/// The list: sources.
void store_to_tensor_memory(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  const auto transfer = transfer_of(warp, in);
  if (!transfer) return;
  TensorMemory& memory = warp.block->tensor_memory;
  const std::uint64_t number = next_operation(warp);
  std::vector<TensorOperation> operations;
  for (const TensorRegion& region : transfer_regions(*transfer)) {
    TensorOperation& operation = operations.emplace_back();
    operation.kind = TensorOperation::Kind::store;
    operation.issued_by = &warp;
    operation.issued_in = &in;
    operation.number = number;
    operation.writes = region;
    if (!may_begin(warp, in, -1, memory, operation)) return;
  }
  const Place* const places = warp.launch->kernel->places.data() + in.more;
  for (std::uint32_t reg = 0; reg < transfer->registers; ++reg) {
    const std::uint32_t* const from = warp.row(places[reg]);
    for (std::uint32_t thread = 0; thread < 32; ++thread) {
      const TensorCell cell = cell_of(transfer->shape, thread, reg);
      const std::uint32_t lane = transfer->base.lane + cell.lane, column = column_in(*transfer, cell);
      memory.write(lane, column, transfer->halves ? from[thread] & 0xffffu : from[thread]);
      if (transfer->halves) memory.write(lane, column + 1, from[thread] >> 16);
    }
  }
  for (TensorOperation& operation : operations) memory.begin(std::move(operation));
}

template <TensorOperation::Kind kKind>
void wait_for_transfers(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_whole_warp(warp, in, mask)) return;
  std::erase_if(warp.block->tensor_memory.under_way(), [&](const TensorOperation& operation) {
    return operation.kind == kKind && operation.issued_by == &warp;
  });
  if constexpr (kKind == TensorOperation::Kind::load) warp.products.end_loads();
}

void order_only(Warp&, const Instruction&, std::uint32_t) {}

// ---- Decoding

void take_sync_aligned(Form& form) {
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
}

void decode_allocation(Form& form) {
  const int blocks = take_block_group(form);
  take_sync_aligned(form);
  const Where where = take_space(form);
  if (!form.take("b32")) form.unsupported("only .b32");
  take_address(form, form.operand(0), where, true);
  form.source(1, Type::u32);
  form.instruction().aux1 = static_cast<std::uint32_t>(blocks);
  form.emit(allocate_columns, OpClass::store);
}

void decode_deallocation(Form& form) {
  take_block_group(form);
  take_sync_aligned(form);
  if (!form.take("b32")) form.unsupported("only .b32");
  form.source(0, Type::b32);
  form.source(1, Type::u32);
  form.emit(free_tensor_columns, OpClass::warp_sync);
}

/// ".x8": registers for each unit of the shape.
std::uint32_t take_register_count(Form& form, TensorDataShape shape) {
  const std::uint32_t each = shape == TensorDataShape::d16x256b ? 4 : shape == TensorDataShape::d16x128b ? 2 : 1;
  for (std::uint32_t count = 1; count * each <= 128; count *= 2)
    if (form.take(fmt::format("x{}", count))) return count * each;
  form.unsupported("no .x1 to .x128 that the shape has");
}

void decode_tensor_transfer(Form& form, bool loads) {
  take_sync_aligned(form);
  std::size_t shape = 0;
  while (shape < kTensorShapes.size() && !form.take(kTensorShapes[shape])) ++shape;
  if (shape == kTensorShapes.size()) form.unsupported("shape");
  const auto which = static_cast<TensorDataShape>(shape);
  const std::uint32_t registers = take_register_count(form, which);
  const bool halves = form.take(loads ? "pack::16b" : "unpack::16b");
  if (!form.take("b32")) form.unsupported("only .b32");
  const bool split = which == TensorDataShape::d16x32bx2;
  if (form.operand_count() != (split ? 3u : 2u)) form.unsupported("the number of operands");
  const std::uint32_t offset = take_tensor_address(form, form.operand(loads ? 1 : 0));
  std::uint64_t second = 0;
  if (split) {
    const ptx::Operand& half = form.operand(loads ? 2 : 1);
    if (half.kind != ptx::Operand::Kind::integer) form.unsupported("the offset of the second half must be a number");
    second = half.bits;
  }
  const auto elements = form.elements(loads ? 0 : form.operand_count() - 1);
  if (elements.size() != registers) form.unsupported(fmt::format("{} registers are expected", registers));
  form.begin_list();
  for (const ptx::Operand& element : elements)
    loads ? form.list_destination(element, Type::b32) : form.list_source(element, Type::b32);
  form.instruction().immediate = static_cast<std::int64_t>(second << 32 | offset);
  form.instruction().aux0 = static_cast<std::uint32_t>(shape) | (halves ? 1u << 8 : 0u);
  form.instruction().aux1 = registers;
  form.emit(loads ? load_from_tensor_memory : store_to_tensor_memory,
            loads ? OpClass::tensor_load : OpClass::tensor_store);
}

void decode_transfer_wait(Form& form, bool of_loads) {
  take_sync_aligned(form);
  form.emit(
      of_loads ? wait_for_transfers<TensorOperation::Kind::load> : wait_for_transfers<TensorOperation::Kind::store>,
      OpClass::tensor_wait);
}

void decode_tcgen05(Form& form) {
  if (form.take("alloc")) return decode_allocation(form);
  if (form.take("dealloc")) return decode_deallocation(form);
  if (form.take("ld")) return decode_tensor_transfer(form, true);
  if (form.take("st")) return decode_tensor_transfer(form, false);
  if (form.take("wait::ld")) return decode_transfer_wait(form, true);
  if (form.take("wait::st")) return decode_transfer_wait(form, false);
  if (form.take("mma")) return decode_tensor_product(form);
  if (form.take("cp")) return decode_tensor_copy_in(form);
  if (form.take("shift")) return decode_tensor_shift(form);
  if (form.take("commit")) return decode_tensor_commit(form);
  if (form.take("relinquish_alloc_permit")) {
    take_block_group(form);
    take_sync_aligned(form);
    return form.emit(relinquish_permit, OpClass::warp_sync);
  }
  if (!form.take_one_of({"fence::before_thread_sync", "fence::after_thread_sync"}).empty())
    return form.emit(order_only, OpClass::nothing);
  form.unsupported();
}

}  // namespace

std::span<const Operation> tcgen05_operations() {
  static constexpr Operation kOperations[] = {{"tcgen05", Operands::any, decode_tcgen05}};
  return kOperations;
}

}  // namespace evo::vgpu

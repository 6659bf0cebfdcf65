#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/tcgen05_operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/tcgen05/tensor_product.h"

// PTX ISA 9.0, 9.7.16.8.2, 9.7.16.9 and 9.7.16.11: tcgen05.shift, cp, commit.
namespace evo::vgpu {
namespace {

using ptx::Type;

// ---- cp: shared memory to tensor memory

/// What tcgen05.cp moves. Its rows are those of a K-major operand; each goes to `copies` lanes.
struct CopyShape {
  std::string_view name;
  std::string_view multicast;
  int rows = 0;
  int chunks = 0;  ///< Of 16 bytes.
};
constexpr std::array<CopyShape, 6> kCopyShapes = {{{"128x256b", "", 128, 2},
                                                   {"4x256b", "", 4, 2},
                                                   {"128x128b", "", 128, 1},
                                                   {"64x128b", "warpx2::02_13", 64, 1},
                                                   {"64x128b", "warpx2::01_23", 64, 1},
                                                   {"32x128b", "warpx4", 32, 1}}};
enum CopyShapeNumber : std::uint32_t { kWhole256, kFourRows, kWhole128, kPairs02, kPairs01, kQuarters };

/// The lanes of a row, in the first and in further quarters.
std::vector<std::uint32_t> lanes_of_row(std::uint32_t shape, std::uint32_t first, std::uint32_t row) {
  switch (shape) {
    case kFourRows:
      return {first + row * kQuarterLanes};
    case kPairs02:
      return {row, row + 64};
    case kPairs01:
      return {row / 32 * 64 + row % 32, row / 32 * 64 + 32 + row % 32};
    case kQuarters:
      return {row, row + 32, row + 64, row + 96};
    default:
      return {row};
  }
}

/// op: address, descriptor. aux0: shape, then bits of an element that becomes a byte (0: none). aux1: blocks.
void copy_in(Warp& warp, const Instruction& in, int lane) {
  const std::uint32_t number = in.aux0 & 0xffu;
  const CopyShape& shape = kCopyShapes[number];
  const TensorAddress to = TensorAddress::decoded(warp.row(in.op[0])[lane]);
  const std::uint64_t descriptor = source_row<std::uint64_t>(warp, in.op[1])[lane];
  std::string why;
  const auto matrix = decode_tensor_descriptor(descriptor, why);
  if (matrix && matrix->by_32) why = "swizzling by 32 bytes is of transposed tf32 alone";
  if (!why.empty()) return warp.fail(in, fmt::format("the descriptor {:#x}: {}", descriptor, why), lane);
  if (number == kFourRows ? to.lane >= kQuarterLanes : to.lane != 0)
    return warp.fail(in, fmt::format("the address has lane {}", to.lane), lane);
  const SharedPart part{*matrix, 0, shape.rows, shape.chunks, false};
  const auto blocks = blocks_of(warp, in, lane, static_cast<int>(in.aux1));
  if (blocks[0] == nullptr) return;

  TensorOperation operation;
  operation.kind = TensorOperation::Kind::copy;
  operation.issued_by = &warp;
  operation.lane = lane;
  operation.issued_in = &in;
  operation.writes = {to.column, static_cast<std::uint32_t>(4 * shape.chunks), {}};
  for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(shape.rows); ++row)
    for (const std::uint32_t at : lanes_of_row(number, to.lane, row)) operation.writes.add_lanes(at, 1);
  operation.number = next_operation(warp);
  for (Block* const block : blocks) {
    if (block == nullptr) continue;
    if (!may_begin(warp, in, lane, block->tensor_memory, operation)) return;
    if (const std::uint32_t outside = first_outside(part, block->shared); outside != 0)
      return warp.fail(in,
                       fmt::format("reads 16 bytes at shared address {:#x}, outside the block's shared memory, by its "
                                   "descriptor {:#x}",
                                   outside, descriptor),
                       lane);
    TensorOperation own = operation;
    own.shared.push_back({block, part, checksum(part, block->shared)});
    if (warp.launch->observer != nullptr) warp.launch->observer->begin_tensor_read(warp, in, lane, *block, part, 'S');
    std::vector<TileWord> words(static_cast<std::size_t>(4 * shape.chunks * ((shape.rows + 15) / 16)));
    read_part(part, block->shared, 16, words.data());
    for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(shape.rows); ++row)
      for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(shape.chunks); ++chunk) {
        std::array<std::uint32_t, 4> four;
        const std::size_t first = row / 16 * 4 * static_cast<std::uint32_t>(shape.chunks) + 4 * chunk;
        for (std::size_t i = 0; i < four.size(); ++i) four[i] = words[first + i].row[row % 16];
        if (const auto bits = static_cast<int>(in.aux0 >> 8); bits != 0) four = spread_elements(four, bits);
        for (const std::uint32_t at : lanes_of_row(number, to.lane, row))
          for (std::uint32_t i = 0; i < four.size(); ++i)
            block->tensor_memory.write(at, to.column + 4 * chunk + i, four[i]);
      }
    block->tensor_memory.begin(std::move(own));
  }
}

// ---- shift

constexpr std::uint32_t kShiftedColumns = 8;

/// Lanes 0 to 30 of a quarter take what the lane above them has. op: address. aux1: blocks.
void shift_down(Warp& warp, const Instruction& in, int lane) {
  const TensorAddress at = TensorAddress::decoded(warp.row(in.op[0])[lane]);
  if (at.lane % kQuarterLanes != 0)
    return warp.fail(in, fmt::format("the address has lane {}, which is no multiple of 32", at.lane), lane);
  if (at.lane >= kTensorLanes) return warp.fail(in, fmt::format("the address has lane {}", at.lane), lane);
  const auto blocks = blocks_of(warp, in, lane, static_cast<int>(in.aux1));
  if (blocks[0] == nullptr) return;
  TensorOperation operation;
  operation.kind = TensorOperation::Kind::shift;
  operation.issued_by = &warp;
  operation.lane = lane;
  operation.issued_in = &in;
  operation.writes = {at.column, kShiftedColumns, {}};
  operation.writes.add_lanes(at.lane, kQuarterLanes);
  operation.number = next_operation(warp);
  for (Block* const block : blocks) {
    if (block == nullptr) continue;
    TensorMemory& memory = block->tensor_memory;
    if (!may_begin(warp, in, lane, memory, operation)) return;
    for (std::uint32_t column = at.column; column < at.column + kShiftedColumns; ++column)
      for (std::uint32_t l = at.lane; l + 1 < at.lane + kQuarterLanes; ++l)
        memory.write(l, column, memory.read(l + 1, column));
    memory.begin(operation);
  }
}

template <void (*kIssue)(Warp& warp, const Instruction& in, int lane)>
void issue_each(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    kIssue(warp, in, lane);
    if (warp.stop == Stop::failed) return;
  }
}

// ---- commit

/// Ends what a thread had issued when it committed: in all blocks of the cluster. False when the warp has failed.
bool end_operations(Warp& warp, int lane, std::uint64_t last, std::uint32_t time) {
  Observer* const observer = warp.launch->observer;
  for (const auto& block : warp.block->cluster->blocks) {
    auto& under_way = block->tensor_memory.under_way();
    const auto ends = [&](const TensorOperation& operation) {
      return operation.is_tracked() && operation.issued_by == &warp && operation.lane == lane &&
             operation.number <= last;
    };
    for (const TensorOperation& operation : under_way) {
      if (!ends(operation)) continue;
      for (const SharedOperand& operand : operation.shared) {
        if (checksum(operand.part, operand.block->shared) != operand.checksum) {
          warp.fail(*operation.issued_in,
                    "an operand in shared memory was written while it was being read: the instruction had been issued, "
                    "but not waited for (at the mbarrier of its tcgen05.commit)",
                    lane);
          return false;
        }
        if (observer != nullptr)
          observer->end_tensor_read(warp, *operation.issued_in, *operand.block, operand.part, time);
      }
    }
    std::erase_if(under_way, ends);
  }
  return true;
}

/// An arrival at an mbarrier, once the thread's operations have ended.
bool arrive_at_end(Warp& warp, const Instruction& in, int lane, const SharedPlace& place, std::uint64_t last,
                   std::uint32_t time) {
  const Mbarrier* const barrier = mbarrier_at(warp, in, lane, place);
  if (barrier == nullptr) return false;
  Observer* const observer = warp.launch->observer;
  if (observer != nullptr) observer->mbarrier_use(warp, in, lane, place, true);
  if (warp.launch->tracer != nullptr && place.block == warp.block) {
    warp.launch->async.kind = AsyncAction::Kind::arrive;
    warp.launch->async.phase = barrier->phase;
  }
  BulkOperation operation;
  operation.perform = [&warp, lane, last, time, place, observer] {
    if (end_operations(warp, lane, last, time) && observer != nullptr)
      observer->tensor_reads_ended(warp, *place.block, place.offset, time);
  };
  operation.issued_in = &in;
  operation.issued_by = &warp;
  operation.lane = lane;
  operation.barrier_of = place.block;
  operation.barrier = place.offset;
  operation.arrivals = 1;
  warp.block->cluster->issue(std::move(operation));
  return true;
}

/// op: nothing, the mbarrier's base, the mask of blocks. aux1: it has a mask.
void commit_operations(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const AccessMode mode = AccessMode::decoded(in.aux0);
  const auto& blocks = warp.block->cluster->blocks;
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t address =
        mode.wide_base ? source_row<std::uint64_t>(warp, in.op[1])[lane] + static_cast<std::uint64_t>(in.immediate)
                       : static_cast<Word>(warp.row(in.op[1])[lane] + static_cast<Word>(in.immediate));
    const auto place = shared_place(warp, in, lane, mode, address, 8, 8);
    if (!place) return;
    std::uint64_t last = 0;
    for (const auto& block : blocks)
      for (TensorOperation& operation : block->tensor_memory.under_way()) {
        if (!operation.is_tracked() || operation.issued_by != &warp || operation.lane != lane) continue;
        operation.committed = true;
        last = std::max(last, operation.number);
      }
    const std::uint32_t time = warp.launch->observer != nullptr ? warp.launch->observer->tensor_time(warp) : 0;
    if (in.aux1 == 0) {
      if (!arrive_at_end(warp, in, lane, *place, last, time)) return;
      continue;
    }
    const std::uint32_t ranks = warp.row(in.op[2])[lane] & 0xffffu;
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
      if ((ranks >> rank & 1u) == 0) continue;
      if (rank >= blocks.size() || blocks[rank]->live == 0) {
        return warp.fail(in,
                         fmt::format("an arrival in block {} of the cluster, which {}", rank,
                                     rank < blocks.size() ? "has ended" : "does not exist"),
                         lane);
      }
      if (!arrive_at_end(warp, in, lane, {blocks[rank].get(), place->offset}, last, time)) return;
    }
  }
}

}  // namespace

void decode_tensor_copy_in(Form& form) {
  const int blocks = take_block_group(form);
  std::uint32_t shape = 0;
  for (; shape < kCopyShapes.size(); ++shape) {
    const std::string_view multicast = kCopyShapes[shape].multicast;
    const auto& parts = form.statement().parts;
    if (std::ranges::find(parts, kCopyShapes[shape].name) == parts.end()) continue;
    if (!multicast.empty() && !form.take(multicast)) continue;
    form.take(kCopyShapes[shape].name);
    break;
  }
  if (shape == kCopyShapes.size()) form.unsupported("no shape of tcgen05.cp");
  std::uint32_t bits = 0;
  if (form.take("b8x16")) {
    const std::string_view from = form.take_one_of({"b6x16_p32", "b4x16_p64"});
    if (from.empty()) form.unsupported(".b6x16_p32 or .b4x16_p64 is needed");
    bits = static_cast<std::uint32_t>(from[1] - '0');
  }
  if (take_tensor_address(form, form.operand(0)) != 0) form.unsupported("an address of tensor memory with an offset");
  form.source(1, Type::b64);
  form.instruction().aux0 = shape | bits << 8;
  form.instruction().aux1 = static_cast<std::uint32_t>(blocks);
  form.emit(issue_each<copy_in>, OpClass::tensor_product);
}

void decode_tensor_shift(Form& form) {
  const int blocks = take_block_group(form);
  if (!form.take("down")) form.unsupported("only .down");
  if (take_tensor_address(form, form.operand(0)) != 0) form.unsupported("an address of tensor memory with an offset");
  form.instruction().aux1 = static_cast<std::uint32_t>(blocks);
  form.emit(issue_each<shift_down>, OpClass::tensor_product);
}

void decode_tensor_commit(Form& form) {
  take_block_group(form);
  if (!form.take("mbarrier::arrive::one")) form.unsupported("only .mbarrier::arrive::one");
  const Where where = take_space(form);
  const bool multicast = form.take("multicast::cluster");
  if (!form.take("b64")) form.unsupported("only .b64");
  if (form.operand_count() != (multicast ? 2u : 1u)) form.unsupported("the number of operands");
  form.raw(0);
  take_address(form, form.operand(0), where, true);
  if (multicast) form.source(1, Type::u16);
  form.instruction().aux1 = multicast ? 1 : 0;
  form.emit(commit_operations, OpClass::tensor_commit);
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/parts/bulk_issue.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/machine/observer.h"

namespace evo::vgpu {
namespace {

bool issue(Warp& warp, const Instruction& in, int lane, SharedPlace barrier, std::uint32_t target,
           const BulkTraffic& traffic, std::function<void()> perform) {
  const Mbarrier* signalled = mbarrier_at(warp, in, lane, barrier);
  if (signalled == nullptr) return false;
  if (Observer* const observer = warp.launch->observer) {
    observer->mbarrier_use(warp, in, lane, barrier, false);
    observer->begin_bulk_write(warp, in, lane, *barrier.block, target, traffic.bytes);
    perform = [observer, &warp, &in, block = barrier.block, target, bytes = traffic.bytes,
               perform = std::move(perform)] {
      perform();
      observer->end_bulk_write(warp, in, *block, target, bytes);
    };
  }
  if (barrier.block == warp.block) note_copy(warp, traffic, signalled);
  BulkOperation operation;
  operation.perform = std::move(perform);
  operation.issued_in = &in;
  operation.issued_by = &warp;
  operation.lane = lane;
  operation.barrier_of = barrier.block;
  operation.barrier = barrier.offset;
  operation.bytes = traffic.bytes;
  warp.block->cluster->issue(std::move(operation));
  return true;
}

}  // namespace

std::uint64_t address_in(const Warp& warp, Place base, AccessMode mode, std::uint32_t offset, int lane) {
  if (!mode.wide_base) return static_cast<Word>(warp.row(base)[lane] + offset);
  const auto wide = static_cast<std::int64_t>(static_cast<std::int32_t>(offset));
  return source_row<std::uint64_t>(warp, base)[lane] + static_cast<std::uint64_t>(wide);
}

void add_to_group(Warp& warp, const Instruction& in, int lane, std::function<void()> perform,
                  std::function<void()> settle) {
  BulkOperation operation;
  operation.perform = std::move(perform);
  operation.settle = std::move(settle);
  operation.issued_in = &in;
  operation.issued_by = &warp;
  operation.lane = lane;
  operation.group = warp.committed_bulk_groups[static_cast<std::size_t>(lane)];
  warp.bulk_operations.push_back(std::move(operation));
}

void note_copy(Warp& warp, const BulkTraffic& traffic, const Mbarrier* barrier) {
  const std::uint32_t sectors = traffic.global ? (traffic.bytes + 31) / 32 : 0;
  if (!warp.launch->code_parts.empty()) {
    warp.demand.sectors += sectors;
    warp.demand.waited += kTrip;
    if (!traffic.global) warp.demand.shared_passes += (traffic.bytes + 127) / 128;
  }
  if (warp.launch->tracer == nullptr) return;
  AsyncAction& action = warp.launch->async;
  action.kind = AsyncAction::Kind::copy;
  action.bytes += traffic.bytes;
  action.sectors += sectors;
  action.global = traffic.global;
  action.writes = traffic.writes;
  if (barrier != nullptr) action.phase = barrier->phase;
}

bool issue_to_blocks(Warp& warp, const Instruction& in, int lane, const SharedPlace& target, const BulkTraffic& traffic,
                     const std::function<std::function<void()>(Block& block)>& deliver) {
  const AccessMode mode = AccessMode::decoded(in.aux0 >> 8);
  const auto offset = static_cast<std::uint32_t>(static_cast<std::uint64_t>(in.immediate) >> 32);
  const auto barrier = shared_place(warp, in, lane, mode, address_in(warp, in.op[3], mode, offset, lane), 8, 8);
  if (!barrier) return false;
  if ((in.aux0 & kMulticast) == 0) {
    if (barrier->block != target.block) {
      warp.fail(in, "the mbarrier is in another block's shared memory than the target", lane);
      return false;
    }
    return issue(warp, in, lane, *barrier, target.offset, traffic, deliver(*target.block));
  }
  const auto& blocks = warp.block->cluster->blocks;
  const Word ranks = warp.row(in.op[4])[lane];
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    if ((ranks >> rank & 1u) == 0) continue;
    if (rank >= blocks.size() || blocks[rank]->live == 0) {
      warp.fail(in,
                fmt::format("a copy to block {} of the cluster, which {}", rank,
                            rank < blocks.size() ? "has ended" : "does not exist"),
                lane);
      return false;
    }
    Block& block = *blocks[rank];
    if (!issue(warp, in, lane, {&block, barrier->offset}, target.offset, traffic, deliver(block))) return false;
  }
  return true;
}

bool is_in_cluster(const Warp& warp) {
  return warp.block->cluster->blocks.size() > 1 || warp.launch->kernel->required_cluster[0] != 0;
}

Reduction reduction_in(const Instruction& in) {
  if (in.op[5] == 0) return {};
  return *reduction_of(kReductions[in.op[5] >> 8], static_cast<ptx::Type>(in.op[5] & 0xffu));
}

// ---- Decoding

BulkEnd take_bulk_end(Form& form) {
  if (form.take("bulk_group")) return BulkEnd::group;
  if (!form.take("mbarrier::complete_tx::bytes")) form.unsupported("no completion mechanism");
  return BulkEnd::mbarrier;
}

void take_completion_barrier(Form& form, std::size_t barrier, std::size_t block_mask) {
  if (barrier == 0) {
    form.raw(0);
  } else {
    const AddressForm address = take_base(form, form.operand(barrier), Where::cluster, true);
    form.instruction().aux0 |= address.mode.encoded() << 8;
    form.instruction().immediate |= static_cast<std::int64_t>(static_cast<std::uint64_t>(address.offset) << 32);
  }
  if (block_mask == 0) {
    form.raw(0);
  } else {
    form.source(block_mask, ptx::Type::u16);
    form.instruction().aux0 |= kMulticast;
  }
}

std::uint32_t take_reduction(Form& form) {
  for (std::uint32_t number = 0; number < std::size(kReductions); ++number)
    if (form.take(kReductions[number])) return number;
  form.unsupported("no reduction");
}

std::uint32_t encoded_reduction(Form& form, std::uint32_t number, ptx::Type type) {
  if (!reduction_of(kReductions[number], type)) form.unsupported("type ." + std::string(ptx::name_of(type)));
  return number << 8 | static_cast<std::uint32_t>(type);
}

}  // namespace evo::vgpu

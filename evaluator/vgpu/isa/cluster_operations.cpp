#include <array>
#include <bit>
#include <cstring>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/parts/bulk_issue.h"

// PTX ISA 9.0, 9.7.9 "mapa, getctarank, st.async", 9.7.13 "barrier.cluster, red.async", 9.7.19.5 "setmaxnreg".
namespace evo::vgpu {
namespace {

using ptx::Type;

// ---- Addresses

/// op: result, address, rank.
template <class T, std::uint64_t kWindow>
void map_address(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const T* address = source_row<T>(warp, in.op[1]);
  const Word* rank = warp.row(in.op[2]);
  T* d = own_row<T>(warp, in.op[0]);
  const auto size = static_cast<std::uint32_t>(warp.block->cluster->blocks.size());
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t offset = address[lane] - kWindow;
    if (offset >= std::uint64_t{1} << kRankShift) return warp.fail(in, "an address that is not in shared memory", lane);
    if (rank[lane] >= size) {
      return warp.fail(in, "rank " + std::to_string(rank[lane]) + " in a cluster of " + std::to_string(size), lane);
    }
    d[lane] = static_cast<T>(kWindow + cluster_address(rank[lane], static_cast<std::uint32_t>(offset)));
  }
}

void decode_mapa(Form& form) {
  const bool in_window = form.take("shared::cluster");
  const Type type = form.type();
  form.destination(0, type);
  form.source(1, type);
  form.source(2, Type::u32);
  const bool wide = ptx::bits_of(type) == 64;
  if (!wide && !in_window) form.unsupported("generic addresses have 64 bits");
  Execute execute = map_address<std::uint64_t, kSharedWindow>;
  if (in_window) execute = wide ? map_address<std::uint64_t, 0> : map_address<Word, 0>;
  form.emit(execute, OpClass::integer);
}

/// op: result, address.
template <class T, std::uint64_t kWindow>
void rank_of_address(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const T* address = source_row<T>(warp, in.op[1]);
  Word* d = warp.own(in.op[0]);
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t rank = (address[lane] - kWindow) >> kRankShift;
    if (rank > warp.block->cluster->blocks.size())
      return warp.fail(in, "an address that is not in the cluster's shared memory", lane);
    d[lane] = rank == 0 ? warp.block->rank : static_cast<Word>(rank - 1);
  }
}

void decode_getctarank(Form& form) {
  const bool in_window = form.take("shared::cluster");
  const Type type = form.type();
  form.destination(0, Type::u32);
  form.source(1, type);
  const bool wide = ptx::bits_of(type) == 64;
  if (!wide && !in_window) form.unsupported("generic addresses have 64 bits");
  Execute execute = rank_of_address<std::uint64_t, kSharedWindow>;
  if (in_window) execute = wide ? rank_of_address<std::uint64_t, 0> : rank_of_address<Word, 0>;
  form.emit(execute, OpClass::integer);
}

// ---- barrier.cluster

void note(Warp& warp, AsyncAction::Kind kind, std::uint64_t phase) {
  if (warp.launch->tracer == nullptr) return;
  warp.launch->async.kind = kind;
  warp.launch->async.phase = phase;
}

void cluster_arrive(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if ((warp.at_cluster_barrier & mask) != 0) {
    return warp.fail(in, "arrives again without having waited", std::countr_zero(warp.at_cluster_barrier & mask));
  }
  Cluster& cluster = *warp.block->cluster;
  note(warp, AsyncAction::Kind::arrive, cluster.phase);
  warp.at_cluster_barrier |= mask;
  if (warp.launch->observer != nullptr) warp.launch->observer->arrive_at_cluster(warp, mask);
  for (const std::size_t lane : lanes_of(mask)) warp.cluster_generation[lane] = cluster.generation;
  cluster.arrive(static_cast<std::uint32_t>(std::popcount(mask)));
}

void cluster_wait(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Cluster& cluster = *warp.block->cluster;
  if ((mask & ~warp.at_cluster_barrier) != 0)
    return warp.fail(in, "waits without having arrived", std::countr_zero(mask & ~warp.at_cluster_barrier));
  for (const std::size_t lane : lanes_of(mask)) {
    if (warp.cluster_generation[lane] != cluster.generation) continue;
    warp.launch->async.kind = AsyncAction::Kind::parked;
    return warp.wait_outside(in, mask, Split::State::waits_for_cluster, 0);
  }
  warp.at_cluster_barrier &= ~mask;
  note(warp, AsyncAction::Kind::wait, cluster.phase_before);
  if (warp.launch->observer != nullptr) warp.launch->observer->cluster_passed(warp, mask);
}

// ---- setmaxnreg

constexpr std::uint32_t kWarpsOfGroup = 4;

/// immediate: registers of each thread from here on.
template <bool kMore>
void set_registers(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!warp.gather(in, mask, kAllLanes)) return;
  Block& block = *warp.block;
  const auto wanted = static_cast<std::uint32_t>(in.immediate);
  if (block.warps.size() % kWarpsOfGroup != 0) return warp.fail(in, "the block's warps do not make whole warpgroups");
  if (warp.registers == 0) return;  // Unknown.
  if (kMore ? wanted < warp.registers : wanted > warp.registers) {
    return warp.fail(in, "the warp has " + std::to_string(warp.registers) + " registers for each thread, " +
                             (kMore ? "more" : "fewer") + " than " + std::to_string(wanted));
  }
  if constexpr (kMore) {
    const std::uint32_t more = wanted - warp.registers;
    if (more > block.free_registers) {
      warp.launch->async.kind = AsyncAction::Kind::parked;
      return warp.wait_outside(in, mask, Split::State::waits_for_registers, 0);
    }
    block.free_registers -= more;
  } else {
    block.free_registers += warp.registers - wanted;
    ++warp.launch->progress;
    block.wake(Split::State::waits_for_registers, 0);
  }
  warp.registers = wanted;
}

void decode_setmaxnreg(Form& form) {
  const std::string_view action = form.take_one_of({"inc", "dec"});
  const ptx::Operand& count = form.operand(0);
  if (action.empty() || !form.take("sync") || !form.take("aligned") || !form.take("u32")) form.unsupported();
  if (count.kind != ptx::Operand::Kind::integer) form.unsupported("the count must be a number");
  if (count.bits % 8 != 0 || count.bits < 24 || count.bits > 256)
    form.unsupported(std::to_string(count.bits) + " registers: a multiple of 8 from 24 to 256 is needed");
  form.instruction().immediate = static_cast<std::int64_t>(count.bits);
  form.emit(action == "inc" ? set_registers<true> : set_registers<false>, OpClass::warp_sync);
}

// ---- st.async, red.async

/// op: target, first value, offset of the target, mbarrier, nothing, reduction. The values' places are a list; aux1 is
/// the bytes of one.
void async_store(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const AccessMode mode = AccessMode::decoded(in.aux0);
  const std::uint32_t size = in.aux1 & 0xffu;
  const std::uint32_t count = in.aux1 >> 8;
  const std::uint32_t bytes = size * count;
  const Reduction reduction = reduction_in(in);
  if (reduction.combine != nullptr && !is_in_cluster(warp)) return warp.fail(in, "a launch without clusters");
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t to = address_in(warp, in.op[0], mode, in.op[2], lane);
    const auto place = shared_place(warp, in, lane, mode, to, bytes, bytes);
    if (!place) return;
    std::array<std::byte, 16> values{};
    for (std::uint32_t i = 0; i < count; ++i) {
      const Place from = warp.launch->kernel->places[in.more + i];
      const void* value = size == 8 ? static_cast<const void*>(source_row<std::uint64_t>(warp, from) + lane)
                                    : static_cast<const void*>(warp.row(from) + lane);
      std::memcpy(values.data() + i * size, value, size);
    }
    const std::uint32_t offset = place->offset;
    // Delivered later, maybe when this warp has ended.
    const auto deliver = [offset, bytes, reduction, values,
                          observer = warp.launch->observer](Block& block) -> std::function<void()> {
      return [=, &block] {
        if (observer != nullptr) observer->bulk_loaded({&block, offset}, bytes);
        std::byte* there = block.shared.data() + offset;
        if (reduction.combine != nullptr) {
          reduction.combine(there, values.data(), 1);
        } else {
          std::memcpy(there, values.data(), bytes);
        }
      };
    };
    if (!issue_to_blocks(warp, in, lane, *place, {bytes, false, true}, deliver)) return;
  }
}

void take_async_store(Form& form, std::uint32_t reduction, Type type, std::span<const ptx::Operand> elements) {
  const AddressForm target = take_base(form, form.operand(0), Where::cluster, true);
  form.instruction().aux0 = target.mode.encoded();
  const auto size = static_cast<std::uint32_t>(ptx::bits_of(type) / 8);
  if (size < 4 || size * elements.size() > 16) form.unsupported("values of that size");
  form.instruction().aux1 = size | static_cast<std::uint32_t>(elements.size()) << 8;
  form.raw(0);
  form.raw(static_cast<std::uint32_t>(target.offset));
  take_completion_barrier(form, 2, 0);
  form.raw(reduction);
  form.begin_list();
  for (const ptx::Operand& element : elements) form.list_source(element, type);
  form.instruction().cache = form.new_cache();
  form.emit(async_store, OpClass::bulk_copy);
}

}  // namespace

void decode_cluster_barrier(Form& form) {
  const bool arrives = form.take("arrive");
  if (!arrives && !form.take("wait")) form.unsupported();
  take_memory_hints(form);
  form.take("aligned");
  form.emit(arrives ? cluster_arrive : cluster_wait, arrives ? OpClass::cluster_arrive : OpClass::cluster_wait);
}

void decode_async_store(Form& form) {
  take_memory_hints(form);
  if (!form.take("shared::cluster") || take_bulk_end(form) != BulkEnd::mbarrier)
    form.unsupported("only to .shared::cluster with an mbarrier");
  form.take_one_of({"v2", "v4"});
  take_async_store(form, 0, form.type(), form.elements(1));
}

void decode_async_reduction(Form& form) {
  take_memory_hints(form);
  if (!form.take("shared::cluster") || take_bulk_end(form) != BulkEnd::mbarrier)
    form.unsupported("only to .shared::cluster with an mbarrier");
  const std::uint32_t number = take_reduction(form);
  const Type type = form.type();
  take_async_store(form, encoded_reduction(form, number, type), type, form.elements(1));
}

std::span<const Operation> cluster_operations() {
  static constexpr Operation kOperations[] = {
      {"mapa", Operands::any, decode_mapa},
      {"getctarank", Operands::any, decode_getctarank},
      {"setmaxnreg", Operands::any, decode_setmaxnreg},
  };
  return kOperations;
}

}  // namespace evo::vgpu

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"

// mbarriers, and the copies and products that run asynchronously to the threads.
namespace evo::vgpu {
namespace {

constexpr AccessMode kInShared{Where::shared, false, false};
constexpr AccessMode kIntoShared{Where::shared, false, true};

}  // namespace

// ---- mbarriers

void Sanitiser::mbarrier_init(Warp& warp, const Instruction& in, int lane, const SharedPlace& place) {
  BlockWatch& watch = block_watch(*place.block);
  BlockWatch::MbarrierWatch fresh;
  const auto known = watch.mbarriers.find(place.offset);
  fresh.slot = known != watch.mbarriers.end() ? known->second.slot : watch.barrier_thread(watch.mbarriers.size());
  // Phases go on counting: clocks of the barrier that was here before must not order accesses of this one.
  if (known != watch.mbarriers.end()) fresh.phase = known->second.phase + 1;
  watch.mbarriers[place.offset] = std::move(fresh);
  watch.shared_written.set(place.offset, 8, true);
  if (const auto conflict = watch.shared.write(place.offset, 8, accessor(warp, in, lane, {})))
    report_race(warp, in, lane, kIntoShared, 8, place.offset, *conflict);
}

void Sanitiser::mbarrier_use(Warp& warp, const Instruction& in, int lane, const SharedPlace& place, bool arrives) {
  BlockWatch& watch = block_watch(*place.block);
  MemoryOrder order;
  order.strong = true;
  if (const auto conflict = watch.shared.check(place.offset, 8, accessor(warp, in, lane, order), false))
    report_race(warp, in, lane, kInShared, 8, place.offset, *conflict);
  if (arrives) join_clocks(warp, 1u << lane, watch.mbarriers[place.offset].arriving);
}

void Sanitiser::end_phase(Block& block, std::uint32_t barrier) {
  BlockWatch::MbarrierWatch& watch = block_watch(block).mbarriers[barrier];
  watch.arriving.raise(block_watch(block).number, watch.slot, watch.phase);
  watch.completed = watch.arriving.take();
  report_late_waits(barrier, watch);
  watch.waits.clear();
  ++watch.phase;
}

// A wait names its phase by a parity alone. If the next phase ends before the wait looks, the phase under way has that
// parity again, and it may wait for ever.
void Sanitiser::report_late_waits(std::uint32_t barrier, const BlockWatch::MbarrierWatch& watch) {
  const VectorClockPtr& known = watch.completed.known;
  const auto ordered = [&](const BlockWatch::Wait& wait) {
    const std::uint32_t block = block_watch(*wait.warp->block).number;
    for (const int lane : lanes_of(known != nullptr ? wait.lanes : 0))
      if (known->time_of(block, wait.warp->thread(lane)) >= wait.time) return true;
    return false;
  };
  // One lane speaks for its warp, and one warp for its warpgroup, whose products wait for all four.
  const auto spoken_for = [&](const BlockWatch::Wait& wait) {
    return std::ranges::any_of(watch.waits, [&](const BlockWatch::Wait& other) {
      return other.in == wait.in && other.warp->index / 4 == wait.warp->index / 4 && ordered(other);
    });
  };
  for (const BlockWatch::Wait& wait : watch.waits) {
    if (spoken_for(wait) || reported(FindingKind::race, *wait.warp, *wait.in, kNowhere)) continue;
    report(FindingKind::race, *wait.warp, *wait.in, std::countr_zero(wait.lanes),
           fmt::format("waits for a phase of the mbarrier at byte {} of shared memory, but nothing orders the wait "
                       "before the end of the next phase: it may miss its own and wait for ever",
                       barrier));
  }
}

void BlockWatch::MbarrierWatch::waited(const Wait& wait) {
  const auto earlier = std::ranges::find_if(
      waits, [&](const Wait& one) { return one.warp == wait.warp && one.in == wait.in && one.lanes == wait.lanes; });
  if (earlier == waits.end())
    waits.push_back(wait);
  else
    earlier->time = wait.time;
}

void Sanitiser::mbarrier_waited(Warp& warp, const Instruction& in, std::uint32_t lanes,
                                const std::array<SharedPlace, 32>& places) {
  while (lanes != 0) {
    const auto first = static_cast<std::size_t>(std::countr_zero(lanes));
    std::uint32_t same = 0;
    for (const std::size_t lane : lanes_of(lanes)) {
      if (places[lane].block == places[first].block && places[lane].offset == places[first].offset) same |= 1u << lane;
    }
    lanes &= ~same;
    mbarrier_use(warp, in, static_cast<int>(first), places[first], false);
    BlockWatch::MbarrierWatch& barrier = block_watch(*places[first].block).mbarriers[places[first].offset];
    learn(warp, same, barrier.completed);
    barrier.waited({&warp, &in, same, block_watch(*warp.block).warps[warp.index].now});
  }
}

// ---- cp.async

void Sanitiser::begin_copy_read(Warp& warp, const Instruction& in, std::uint32_t lanes, AccessMode mode,
                                const std::uint32_t* bytes, const Touched& from, PendingCopy& copy) {
  for (const int lane : lanes_of(lanes)) {
    const Spot spot = locate(warp, mode, lane, from.address[lane]);
    if (spot.written == nullptr) continue;
    auto& unwritten = copy.unwritten[static_cast<std::size_t>(lane)];
    for (std::uint32_t i = 0; i < bytes[lane] && !spot.written->all(spot.at, bytes[lane]); ++i)
      if (!spot.written->at(spot.at + i)) unwritten = static_cast<std::uint16_t>(unwritten | 1u << i);
    if (spot.history == nullptr) continue;
    const Accessor by = accessor(warp, in, lane, {});
    look_ahead(warp, in, lane, mode, bytes[lane], from.address[lane], spot, by.known);
    if (const auto conflict = spot.history->read(spot.at, bytes[lane], by))
      report_race(warp, in, lane, mode, bytes[lane], from.address[lane], *conflict);
  }
}

void Sanitiser::begin_copy_write(Warp& warp, const Instruction& in, std::uint32_t lanes, const PendingCopy& copy) {
  for (const int lane : lanes_of(lanes)) {
    const std::uint32_t target = copy.target[static_cast<std::size_t>(lane)];
    check_origin(warp, in, lane, kIntoShared, copy.bytes, target, locate(warp, kIntoShared, lane, target));
    if (const auto conflict =
            block_watch(*warp.block).shared.begin_write(target, copy.bytes, accessor(warp, in, lane, {})))
      report_race(warp, in, lane, kIntoShared, copy.bytes, target, *conflict);
  }
}

void Sanitiser::copies_signal(Warp& warp, int lane) {
  const std::uint32_t bit = 1u << lane;
  for (PendingCopy& copy : warp.copies) {
    if ((copy.lanes & bit) == 0 || (copy.signalled & bit) != 0) continue;
    copy.signalled |= bit;
    copy.signalled_at[static_cast<std::size_t>(lane)] = block_watch(*warp.block).warps[warp.index].now;
  }
}

void Sanitiser::end_copy(Warp& warp, const PendingCopy& copy, int lane) {
  BlockWatch& watch = block_watch(*warp.block);
  const auto index = static_cast<std::size_t>(lane);
  const std::uint32_t target = copy.target[index];
  const std::uint16_t unwritten = copy.unwritten[index];
  watch.shared_written.set(target, copy.bytes, true);
  for (std::uint32_t i = 0; i < copy.bytes && unwritten != 0; ++i)
    if ((unwritten >> i & 1u) != 0) watch.shared_written.set(target + i, 1, false);
  const Accessor by = accessor(warp, *copy.issued_in, lane, {});
  if (landing_ != nullptr) {
    watch.shared.end_write(target, copy.bytes, by, block_watch(*landing_in_).number, landing_->slot, landing_->phase);
  } else {
    // A thread that sees the mbarrier's phase over is ordered after the copy, just like a thread that synchronises with
    // the issuing thread after its own wait.
    const bool signals = (copy.signalled >> lane & 1u) != 0;
    watch.shared.end_write(target, copy.bytes, by, watch.number, by.thread,
                           signals ? copy.signalled_at[index] : watch.warps[warp.index].now);
  }
}

// ---- Bulk copies

void Sanitiser::begin_landing(Block& block, std::uint32_t barrier) {
  landing_ = &block_watch(block).mbarriers[barrier];
  landing_in_ = &block;
}

/// The copy engine or the tensor core reads for a lane: it sees what the lane's proxy fences have published.
Accessor Sanitiser::proxy_accessor(const Warp& warp, const Instruction& in, int lane) const {
  Accessor by = accessor(warp, in, lane, {});
  by.flags.asynchronous = true;
  by.proxied = block_watch(*warp.block).warps[warp.index].of(lane).proxied.get();
  return by;
}

void Sanitiser::begin_bulk_write(Warp& warp, const Instruction& in, int lane, Block& target, std::uint32_t offset,
                                 std::uint32_t bytes) {
  Accessor by = accessor(warp, in, lane, {});
  by.flags.asynchronous = true;
  if (const auto conflict = block_watch(target).shared.begin_write(offset, bytes, by))
    report_race(warp, in, lane, kIntoShared, bytes, offset, *conflict);
}

void Sanitiser::end_bulk_write(Warp& warp, const Instruction& in, Block& target, std::uint32_t offset,
                               std::uint32_t bytes) {
  if (landing_ == nullptr) return;
  block_watch(target).shared.end_write(offset, bytes, accessor(warp, in, 0, {}), block_watch(*landing_in_).number,
                                       landing_->slot, landing_->phase);
}

void Sanitiser::proxy_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                           std::uint32_t bytes, RecordRead record) {
  const Spot spot = locate(warp, mode, lane, from);
  if (spot.history == nullptr) return;
  const Accessor by = proxy_accessor(warp, in, lane);
  look_ahead(warp, in, lane, mode, bytes, from, spot, by.known);
  if (const auto conflict = (spot.history->*record)(spot.at, bytes, by))
    report_race(warp, in, lane, mode, bytes, from, *conflict);
}

void Sanitiser::begin_bulk_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                                std::uint32_t bytes) {
  proxy_read(warp, in, lane, mode, from, bytes, &AccessHistory::begin_read);
}

void Sanitiser::end_bulk_read(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                              std::uint32_t bytes) {
  const Spot spot = locate(warp, mode, lane, from);
  if (spot.history == nullptr) return;
  const Accessor by = accessor(warp, in, lane, {});
  if (landing_ != nullptr) {
    spot.history->end_read(spot.at, bytes, by, block_watch(*landing_in_).number, landing_->slot, landing_->phase);
  } else {
    spot.history->end_read(spot.at, bytes, by);
  }
}

void Sanitiser::bulk_source(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t from,
                            std::uint32_t bytes) {
  proxy_read(warp, in, lane, mode, from, bytes, &AccessHistory::read);
}

void Sanitiser::bulk_loaded(const SharedPlace& to, std::uint32_t bytes) {
  block_watch(*to.block).shared_written.set(to.offset, bytes, true);
}

void Sanitiser::pass_state(const Warp& warp, std::uint64_t from, const SharedPlace& to, std::uint32_t bytes) {
  const Spot spot = locate(warp, {Where::global, true, false}, 0, from);
  if (spot.written == nullptr || spot.written->all(spot.at, bytes)) return;
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (!spot.written->at(spot.at + i)) block_watch(*to.block).shared_written.set(to.offset + i, 1, false);
}

void Sanitiser::bulk_stored(Warp& warp, const Instruction& in, int lane, const SharedPlace& from, std::uint64_t to,
                            std::uint32_t bytes, bool reduces) {
  const AccessMode mode{Where::global, true, true};
  const Spot spot = locate(warp, mode, lane, to);
  if (spot.written == nullptr) return;
  const ByteFlags& source = block_watch(*from.block).shared_written;
  spot.written->set(spot.at, bytes, true);
  for (std::uint32_t i = 0; i < bytes && !source.all(from.offset, bytes); ++i)
    if (!source.at(from.offset + i)) spot.written->set(spot.at + i, 1, false);
  Accessor by = accessor(warp, in, lane, {});
  by.flags.strong = reduces;
  written_while_read_only(warp, in, bytes, spot);
  look_ahead(warp, in, lane, mode, bytes, to, spot, by.known);
  const auto conflict = spot.history->begin_write(spot.at, bytes, by);
  if (!conflict) return;
  // In which order a thread's own groups write is not looked at.
  const bool own =
      conflict->under_way && conflict->with_write && conflict->block == by.block && conflict->thread == by.thread;
  if (!own) report_race(warp, in, lane, mode, bytes, to, *conflict);
}

void Sanitiser::bulk_settled(Warp& warp, const Instruction& in, int lane, std::uint64_t to, std::uint32_t bytes) {
  const Spot spot = locate(warp, {Where::global, true, true}, lane, to);
  if (spot.history == nullptr) return;
  const Accessor by = accessor(warp, in, lane, {});
  spot.history->end_write(spot.at, bytes, by, by.block, by.thread, by.now);
}

void Sanitiser::left_under_way(const BulkOperation& operation) {
  const Warp& warp = *operation.issued_by;
  const auto what = "the block that it goes to has ended, and nobody has waited for this copy";
  if (operation.bytes > 0) return report(FindingKind::unwaited_copy, warp, *operation.issued_in, operation.lane, what);
  for (const PendingCopy& copy : warp.copies)
    if ((copy.lanes >> operation.lane & 1u) != 0)
      report(FindingKind::unwaited_copy, warp, *copy.issued_in, operation.lane, what);
}

// ---- wgmma

void Sanitiser::begin_product_read(Warp& warp, const Instruction& in, const SharedPart& part, char operand) {
  begin_operand_read(warp, in, 0, *warp.block, part, operand);
}

/// What a product reads of a block's shared memory from now on.
void Sanitiser::begin_operand_read(Warp& warp, const Instruction& in, int lane, Block& block, const SharedPart& part,
                                   char operand) {
  BlockWatch& watch = block_watch(block);
  Accessor by = proxy_accessor(warp, in, lane);
  by.thread = block_watch(*warp.block).product_thread(warp.index);
  each_chunk(part, [&](std::uint32_t address) {
    if (!watch.shared_written.all(address, 16)) {
      report(FindingKind::uninitialised, warp, in, lane,
             fmt::format("{} has 16 bytes at {}, which nobody has written", operand,
                         describe_place(warp, kInShared, address)));
    }
    if (const auto conflict = watch.shared.begin_read(address, 16, by))
      report_race(warp, in, lane, kInShared, 16, address, *conflict);
  });
}

void Sanitiser::end_product_read(Warp& warp, const Instruction& in, const SharedPart& part) {
  BlockWatch& watch = block_watch(*warp.block);
  Accessor by = accessor(warp, in, 0, {});
  by.thread = watch.product_thread(warp.index);
  by.now = watch.warps[warp.index].products;
  each_chunk(part, [&](std::uint32_t address) { watch.shared.end_read(address, 16, by); });
}

void Sanitiser::products_waited(Warp& warp) {
  BlockWatch& watch = block_watch(*warp.block);
  WarpWatch& mine = watch.warps[warp.index];
  VectorClock over;
  over.raise(watch.number, watch.product_thread(warp.index), mine.products++);
  learn(warp, kAllLanes, {std::make_shared<const VectorClock>(std::move(over)), nullptr, nullptr, nullptr});
}

// ---- tcgen05

void Sanitiser::begin_tensor_read(Warp& warp, const Instruction& in, int lane, Block& block, const SharedPart& part,
                                  char operand) {
  begin_operand_read(warp, in, lane, block, part, operand);
}

std::uint32_t Sanitiser::tensor_time(const Warp& warp) {
  return block_watch(*warp.block).warps[warp.index].products++;
}

void Sanitiser::end_tensor_read(Warp& warp, const Instruction& in, Block& block, const SharedPart& part,
                                std::uint32_t time) {
  Accessor by = accessor(warp, in, 0, {});
  by.thread = block_watch(*warp.block).product_thread(warp.index);
  by.now = time;
  AccessHistory& history = block_watch(block).shared;
  each_chunk(part, [&](std::uint32_t address) { history.end_read(address, 16, by); });
}

void Sanitiser::tensor_reads_ended(Warp& warp, Block& block, std::uint32_t barrier, std::uint32_t time) {
  const BlockWatch& own = block_watch(*warp.block);
  block_watch(block).mbarriers[barrier].arriving.raise(own.number, own.product_thread(warp.index), time);
}

}  // namespace evo::vgpu

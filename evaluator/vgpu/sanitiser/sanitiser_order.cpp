#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "evaluator/vgpu/machine/control_transfer.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"

// What orders accesses: barriers, fences, what strong accesses hand over, launches ahead.
namespace evo::vgpu {
namespace {

/// Sets of lanes whose latest shuffle is remembered.
constexpr std::size_t kMostMeetings = 4;
/// Stands in clocks for the launches ahead, like kSeenWrites.
constexpr std::uint32_t kLaunchesAhead = 0xffff'ffffu;

}  // namespace

/// Joins the clocks of the lanes, with all that they have done until now, into others.
void Sanitiser::join_clocks(Warp& warp, std::uint32_t lanes, JoinedClocks& into) {
  BlockWatch& watch = block_watch(*warp.block);
  WarpWatch& mine = watch.warps[warp.index];
  for (const WarpWatch::Group& group : mine.groups)
    if ((group.lanes & lanes) != 0) into.add(group.clocks);
  for (const int lane : lanes_of(lanes)) into.raise(watch.number, warp.thread(lane), mine.now);
  ++mine.now;
}

void Sanitiser::warp_barrier(Warp& warp, std::uint32_t lanes) {
  JoinedClocks all;
  join_clocks(warp, lanes, all);
  block_watch(*warp.block).warps[warp.index].assign(lanes, all.take());
}

void WarpWatch::meet(std::uint32_t lanes) {
  if (has_read) ++now;
  has_read = false;
  const std::uint32_t time = now - 1;
  for (const Meeting& old : meetings)
    if (old.time == time && (lanes & ~old.lanes) == 0) return;
  std::erase_if(meetings, [&](const Meeting& old) { return (old.lanes & ~lanes) == 0; });
  if (meetings.size() == kMostMeetings) meetings.erase(meetings.begin());
  meetings.push_back({lanes, time});
}

void Sanitiser::meet(Warp& warp, std::uint32_t lanes) {
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  mine.meet(lanes);
  VectorClockPtr acquired;
  for (const WarpWatch::Group& group : mine.groups)
    if ((group.lanes & lanes) != 0) acquired = joined(acquired, group.clocks.acquired);
  if (acquired == nullptr) return;
  const std::vector<WarpWatch::Group> groups = mine.groups;
  for (const WarpWatch::Group& group : groups) {
    if ((group.lanes & lanes) == 0) continue;
    ThreadClocks clocks = group.clocks;
    clocks.known = joined(clocks.known, acquired);
    clocks.acquired = acquired;
    mine.assign(group.lanes & lanes, clocks);
  }
}

void Sanitiser::arrive(Warp& warp, std::uint32_t barrier, std::uint32_t lanes) {
  join_clocks(warp, lanes, block_watch(*warp.block).barriers[barrier]);
}

void Sanitiser::arrive_aligned(Warp& warp, const Instruction& in, std::uint32_t barrier, std::uint32_t lanes) {
  if (lanes == warp.live()) return;
  auto& partial = block_watch(*warp.block).partial_arrivals;
  const auto earlier = std::ranges::find_if(partial, [&](const BlockWatch::PartialArrival& arrival) {
    return arrival.barrier == barrier && arrival.warp == &warp && arrival.in == &in;
  });
  if (earlier != partial.end()) {
    earlier->lanes |= lanes;
  } else {
    partial.push_back({barrier, &warp, &in, lanes});
  }
}

/// Drops the arrivals for which where(arrival) is true. It is a finding if lanes of their warps have not come.
template <class Where>
void Sanitiser::end_partial_arrivals(Block& block, Where where) {
  std::erase_if(block_watch(block).partial_arrivals, [&](const BlockWatch::PartialArrival& arrival) {
    if (!where(arrival)) return false;
    if (arrival.missing() != 0) {
      report(FindingKind::divergent_barrier, *arrival.warp, *arrival.in, std::countr_zero(arrival.lanes),
             fmt::format(
                 "lanes {:#010x} of the warp are here without {:#010x}: all must execute the same barrier together",
                 arrival.lanes, arrival.missing()));
    }
    return true;
  });
}

void Sanitiser::go_ahead(const Warp& warp, std::uint32_t lanes, std::uint32_t awaited, const Instruction* onwards) {
  // Threads with nothing left to do need not wait for others.
  while (onwards->execute == execute_reconverge) ++onwards;
  if (onwards->execute == execute_exit && onwards->guard == 0) return;
  end_partial_arrivals(*warp.block, [&](const BlockWatch::PartialArrival& arrival) {
    return arrival.warp == &warp && (arrival.lanes & awaited) != 0 && (arrival.missing() & lanes) != 0;
  });
}

void Sanitiser::stuck(Block& block) {
  end_partial_arrivals(block, [](const BlockWatch::PartialArrival&) { return true; });
}

void Sanitiser::barrier_complete(Block& block, std::uint32_t barrier, bool whole) {
  end_partial_arrivals(block, [&](const BlockWatch::PartialArrival& arrival) { return arrival.barrier == barrier; });
  JoinedClocks& all = block_watch(block).barriers[barrier];
  if (whole && block.live < block.threads) report_left_barrier(block, barrier);
  if (whole && !block_watch(block).exited.empty()) {
    const ThreadClocks gone = block_watch(block).exited.take();
    all.add(gone);
    block_watch(block).exited.add(gone);
  }
  block_watch(block).of_barrier = all.take();
}

void Sanitiser::report_left_barrier(Block& block, std::uint32_t barrier) {
  for (Warp& warp : block.warps) {
    for (const Split& split : warp.splits) {
      if (split.state != Split::State::waits_at_barrier || split.barrier != barrier) continue;
      if (reported(FindingKind::benign_looking, warp, *split.waits_in, kNowhere)) return;
      const std::uint32_t ended = block.threads - block.live;
      report(FindingKind::benign_looking, warp, *split.waits_in, std::countr_zero(split.waiting),
             fmt::format("waits for all threads of the block, of which {} {} ended: the barrier counts {} as arrived",
                         ended, ended == 1 ? "has" : "have", ended == 1 ? "it" : "them"));
      return;
    }
  }
}

void Sanitiser::barrier_passed(Warp& warp, std::uint32_t lanes) {
  BlockWatch& watch = block_watch(*warp.block);
  watch.warps[warp.index].assign(lanes, watch.of_barrier);
}

void Sanitiser::exit(Warp& warp, std::uint32_t lanes) {
  for (const PendingCopy& copy : warp.copies) {
    const std::uint32_t left = copy.lanes & lanes & ~copy.signalled;
    if (left == 0) continue;
    report(FindingKind::unwaited_copy, warp, *copy.issued_in, std::countr_zero(left),
           "its thread ends without having waited for this copy");
  }
  for (const BulkOperation& operation : warp.bulk_operations) {
    if (operation.performed || (lanes >> operation.lane & 1u) == 0) continue;
    report(FindingKind::unwaited_copy, warp, *operation.issued_in, operation.lane,
           "its thread ends without having waited until this has read shared memory");
  }
  for (const ProductWatch::Product& product : std::exchange(warp.products.products, {}))
    report(FindingKind::unwaited_copy, warp, *product.issued_in, -1,
           "its warp ends without having waited for this product");
  join_clocks(warp, lanes, block_watch(*warp.block).exited);
}

// ---- Launches ahead

void Sanitiser::wait_for_launches_ahead(Warp& warp, std::uint32_t lanes) {
  waits_ = true;
  VectorClock over;
  over.raise(kLaunchesAhead, 0, 1);
  learn(warp, lanes, {std::make_shared<const VectorClock>(std::move(over)), nullptr, nullptr, nullptr});
}

void Sanitiser::let_dependents_go(Warp& warp, std::uint32_t lanes) {
  for (const WarpWatch::Group& group : block_watch(*warp.block).warps[warp.index].groups) {
    const VectorClockPtr& known = group.clocks.known;
    const bool settled = known != nullptr && known->time_of(kLaunchesAhead, 0) > 0;
    if ((group.lanes & lanes) != 0 && !settled) lets_go_early_ = true;
  }
}

void Sanitiser::look_ahead(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                           std::uint64_t address, const Spot& spot, const VectorClock* known) {
  if (ahead_ == Ahead::nothing || spot.buffer == nullptr || !spot.buffer->of_plan) return;
  if (known != nullptr && known->time_of(kLaunchesAhead, 0) > 0) return;
  if (ahead_ == Ahead::one_launch) {
    Accessor stranger;
    stranger.block = kLaunchesAhead;
    const bool meets =
        spot.buffer->ahead != nullptr && spot.buffer->ahead->check(spot.at, bytes, stranger, mode.writes);
    if (!meets) return;
  }
  if (reported(FindingKind::race, warp, in, kNowhere)) return;
  report(FindingKind::race, warp, in, lane,
         fmt::format("{}: a race with {}: no griddepcontrol.wait lies before it",
                     describe_access(mode.writes ? "writes" : "reads", warp, mode, bytes, address),
                     ahead_ == Ahead::one_launch ? "the launch ahead" : "whatever was launched ahead"));
}

void Sanitiser::fence(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  const std::vector<WarpWatch::Group> groups = mine.groups;
  for (const WarpWatch::Group& group : groups) {
    if ((group.lanes & lanes) == 0) continue;
    VectorClock all = group.clocks.known != nullptr ? *group.clocks.known : VectorClock{};
    // Lanes that fence together share what they fence: they stay one group.
    for (const int lane : lanes_of(group.lanes & lanes))
      all.raise(block_watch(*warp.block).number, warp.thread(lane), mine.now);
    ThreadClocks clocks = group.clocks;
    const auto fenced = std::make_shared<const VectorClock>(std::move(all));
    if (order.proxy) {
      clocks.proxied = fenced;
    } else {
      clocks.released_to_block = fenced;
      if (!order.block_scope) clocks.released = fenced;
    }
    mine.assign(group.lanes & lanes, clocks);
  }
  ++mine.now;
}

void Sanitiser::learn(Warp& warp, std::uint32_t lanes, const ThreadClocks& clocks) {
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  const std::vector<WarpWatch::Group> groups = mine.groups;
  for (const WarpWatch::Group& group : groups) {
    if ((group.lanes & lanes) == 0) continue;
    ThreadClocks both = group.clocks;
    both.join(clocks);
    if (!(both == group.clocks)) mine.assign(group.lanes & lanes, both);
  }
}

void Sanitiser::arrive_at_cluster(Warp& warp, std::uint32_t lanes) {
  join_clocks(warp, lanes, block_watch(*warp.block->cluster->blocks.front()).arriving_at_cluster);
}

void Sanitiser::cluster_complete(Cluster& cluster) {
  BlockWatch& first = block_watch(*cluster.blocks.front());
  first.of_cluster = first.arriving_at_cluster.take();
}

void Sanitiser::cluster_passed(Warp& warp, std::uint32_t lanes) {
  learn(warp, lanes, block_watch(*warp.block->cluster->blocks.front()).of_cluster);
}

/// A strong write releases what the thread's fences have released; a releasing one releases all that is before it.
void Sanitiser::release(Warp& warp, int lane, std::uint64_t key, const MemoryOrder& order, bool replaces) {
  const BlockWatch& watch = block_watch(*warp.block);
  const WarpWatch& mine = watch.warps[warp.index];
  const ThreadClocks& clocks = mine.of(lane);
  VectorClockPtr to_all = clocks.released, to_block = clocks.released_to_block;
  if (order.releases) {
    VectorClock all = clocks.known != nullptr ? *clocks.known : VectorClock{};
    all.raise(watch.number, warp.thread(lane), mine.now);
    to_block = std::make_shared<const VectorClock>(std::move(all));
    if (!order.block_scope) to_all = to_block;
  }
  if (to_all == nullptr && to_block == nullptr) {
    if (replaces) released_.erase(key);
    return;
  }
  Released& released = released_[key];
  if (replaces) released = {};
  if (released.block != watch.number) released.to_block = nullptr;
  released.block = watch.number;
  released.to_all = joined(released.to_all, to_all);
  released.to_block = joined(released.to_block, to_block);
}

/// A strong read sees what was released there. No fence behind it is asked for: the usual kernels have none.
void Sanitiser::acquire(Warp& warp, int lane, std::uint64_t key) {
  if (released_.empty()) return;
  const auto found = released_.find(key);
  if (found == released_.end()) return;
  BlockWatch& watch = block_watch(*warp.block);
  WarpWatch& mine = watch.warps[warp.index];
  ThreadClocks clocks = mine.of(lane);
  VectorClockPtr brought = found->second.to_all;
  if (found->second.block == watch.number) brought = joined(brought, found->second.to_block);
  const VectorClockPtr known = joined(clocks.known, brought);
  if (known == clocks.known) return;
  clocks.known = known;
  clocks.acquired = joined(clocks.acquired, brought);
  mine.assign(1u << lane, clocks);
}

void Sanitiser::learn_seen(Warp& warp, int lane) {
  if (seen_.fresh.empty()) return;
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  VectorClock writes;
  for (const std::uint32_t number : seen_.fresh) writes.raise(kSeenWrites, number, 1);
  seen_.fresh.clear();
  ThreadClocks clocks = mine.of(lane);
  const auto seen = std::make_shared<const VectorClock>(std::move(writes));
  const VectorClockPtr known = joined(clocks.known, seen);
  if (known == clocks.known) return;
  clocks.known = known;
  clocks.acquired = joined(clocks.acquired, seen);
  mine.assign(1u << lane, clocks);
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/sanitiser/sanitiser.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/control_transfer.h"

namespace evo::vgpu {
namespace {

/// Distinct findings that are kept; a kernel that is wrong everywhere need not be described everywhere.
constexpr std::size_t kMostFindings = 64;
/// Unordered reads of one place that are remembered: in shared memory of every warp, in global memory of a
/// few, since any number of blocks may read there.
constexpr std::size_t kMostReadsShared = 32;
constexpr std::size_t kMostReadsGlobal = 4;
/// Sets of lanes whose latest shuffle is remembered.
constexpr std::size_t kMostMeetings = 4;
/// Stands in clocks for the launches ahead: no grid has so many blocks.
constexpr std::uint32_t kLaunchesAhead = 0xffff'ffffu;
/// A load's bytes in one lane.
constexpr std::size_t kLargestAccess = 16;

std::uint32_t number_of(const Block& block) {
  const auto& grid = block.launch->grid;
  return (block.index[2] * grid[1] + block.index[1]) * grid[0] + block.index[0];
}

/// Whether the bytes of a load that nobody has written may be the padding of a struct: something around them has been
/// written. Padding is shorter than the alignment, which is 16 bytes at most.
bool may_be_padding(const ByteFlags& written, std::size_t at, std::size_t bytes) {
  const std::size_t begin = at / 16 * 16, end = std::min((at + bytes + 15) / 16 * 16, written.size());
  for (std::size_t i = begin; i < end; ++i)
    if (written.at(i)) return true;
  return false;
}

std::string bytes_text(bool writes, std::uint32_t bytes) {
  return fmt::format("{} {} byte{}", writes ? "writes" : "reads", bytes, bytes == 1 ? "" : "s");
}

}  // namespace

// ---- Joined clocks

void JoinedClocks::add(const ThreadClocks& clocks) {
  const auto add_to = [](VectorClock& all, const VectorClockPtr& some) {
    if (some != nullptr) all.join(*some);
  };
  add_to(known_, clocks.known);
  add_to(released_, clocks.released);
  add_to(released_to_block_, clocks.released_to_block);
  add_to(proxied_, clocks.proxied);
}

ThreadClocks JoinedClocks::take() {
  const auto taken = [](VectorClock& all) {
    VectorClockPtr result;
    if (!all.empty()) result = std::make_shared<const VectorClock>(std::move(all));
    all = {};
    return result;
  };
  return {taken(known_), taken(released_), taken(released_to_block_), taken(proxied_), {}};
}

// ---- WarpWatch, BlockWatch

const ThreadClocks& WarpWatch::of(int lane) const {
  for (const Group& group : groups)
    if ((group.lanes >> lane & 1u) != 0) return group.clocks;
  return groups.front().clocks;  // Not reached: the groups hold all lanes.
}

void WarpWatch::assign(std::uint32_t lanes, const ThreadClocks& clocks) {
  for (Group& group : groups) group.lanes &= ~lanes;
  std::erase_if(groups, [](const Group& group) { return group.lanes == 0; });
  for (Group& group : groups) {
    if (!(group.clocks == clocks)) continue;
    group.lanes |= lanes;
    return;
  }
  groups.push_back({lanes, clocks});
}

BlockWatch::BlockWatch(const Block& block) : shared(block.shared.size(), kMostReadsShared) {
  warps.resize(block.warps.size());
}

void BlockWatch::start(const Block& block) {
  number = number_of(block);
  shared_written.assign(block.shared.size(), false);
  shared.clear();
  local_written.assign(std::size_t{block.launch->kernel->local_bytes} * 32 * warps.size(), false);
  for (WarpWatch& warp : warps) warp.start();
  barriers = {};
  partial_arrivals.clear();
  exited = {};
  mbarriers.clear();
  arriving_at_cluster = {};
  of_cluster = {};
}

std::unique_ptr<ObservedBlock> Sanitiser::observe(const Block& block) {
  return std::make_unique<BlockWatch>(block);
}

void Sanitiser::begin_block(Block& block) {
  const Kernel& kernel = *block.launch->kernel;
  BlockWatch& watch = block_watch(block);
  watch.start(block);
  watch.shared_written.set(kReservedSmemBytes + kernel.reserved_smem, kernel.reserved_smem_bytes, true);
}

// ---- Memory

void Sanitiser::local_defined(Warp& warp, int lane, std::size_t offset, std::size_t bytes, bool written) {
  const std::size_t begin = std::size_t{warp.launch->kernel->local_bytes} * warp.thread(lane);
  block_watch(*warp.block).local_written.set(begin + offset, bytes, written);
}

void Sanitiser::local_copied(Warp& warp, int lane, std::size_t to, std::size_t from, std::size_t bytes) {
  const std::size_t begin = std::size_t{warp.launch->kernel->local_bytes} * warp.thread(lane);
  ByteFlags& written = block_watch(*warp.block).local_written;
  for (std::size_t i = 0; i < bytes; ++i) written.set(begin + to + i, 1, written.at(begin + from + i));
}

void Sanitiser::allocated(std::uint64_t address, std::size_t bytes) {
  BufferWatch& watch = buffers_[address];
  watch.bytes = bytes;
  watch.written.assign(bytes, false);
}

void Sanitiser::freed(std::uint64_t address) {
  buffers_.erase(address);
  last_ = nullptr;
}

Sanitiser::BufferWatch& Sanitiser::watch_of(const Allocation& allocation) {
  if (last_ != nullptr && last_begin_ == allocation.begin) return *last_;
  const std::size_t bytes = allocation.end - allocation.begin;
  BufferWatch& watch = buffers_[allocation.begin];
  if (watch.bytes != bytes || watch.written.size() != bytes) {
    watch.bytes = bytes;
    watch.written.assign(bytes, true);
    watch.history.reset();
  }
  if (watch.history == nullptr) watch.history = std::make_unique<AccessHistory>(bytes, kMostReadsGlobal);
  last_begin_ = allocation.begin;
  last_ = &watch;
  return watch;
}

void Sanitiser::mark(std::uint64_t address, std::size_t bytes, const GlobalMemory& memory, bool value) {
  const Allocation* allocation = memory.find(address);
  if (allocation != nullptr) watch_of(*allocation).written.set(address - allocation->begin, bytes, value);
}

void Sanitiser::begin_plan(std::span<const std::uint64_t> buffers, bool ordered, const GlobalMemory& memory) {
  for (const std::uint64_t address : buffers) {
    if (const Allocation* allocation = memory.find(address)) watch_of(*allocation).of_plan = true;
  }
  first_of_plan_ = !ordered;
}

void Sanitiser::begin_launch(const Launch& launch) {
  // All blocks of the launch ahead have begun when this one begins. If that launch let this one begin only after its
  // own wait for the launches before it, those are over.
  const bool settled = ahead_ == Ahead::nothing || (waits_ && !lets_go_early_);
  ahead_ = !launch.programmatic ? Ahead::nothing : first_of_plan_ || !settled ? Ahead::everything : Ahead::one_launch;
  first_of_plan_ = waits_ = lets_go_early_ = false;
  for (auto& [begin, watch] : buffers_) {
    watch.ahead = ahead_ == Ahead::one_launch ? std::move(watch.history) : nullptr;
    watch.history.reset();
  }
  last_ = nullptr;
  released_.clear();
  reported_.clear();
  uses_.emplace(*launch.kernel);
}

void Sanitiser::end_launch(const Launch& launch) {
  if (!launch.failure) return;
  Finding finding;
  finding.kind = launch.failure_kind;
  finding.kernel = launch.kernel->name;
  finding.line = launch.failure_line;
  finding.text = launch.failure->reason;
  // Failures without a line differ by their text.
  add(finding, finding.line != 0 ? "" : finding.text, 0);
}

/// Equal lines of one kernel are one finding, whichever thread and instruction came first.
std::optional<std::size_t> Sanitiser::add(const Finding& finding, const std::string& place, std::uint32_t other_line) {
  const auto [known, fresh] =
      known_.try_emplace({finding.kind, finding.kernel, place, finding.line, other_line}, findings_.size());
  if (!fresh) {
    ++findings_[known->second].count;
  } else if (findings_.size() < kMostFindings) {
    findings_.push_back(finding);
  } else {
    known_.erase(known);
    return std::nullopt;
  }
  return known->second;
}

bool Sanitiser::reported(FindingKind kind, const Warp& warp, const Instruction& in, std::uint32_t other_code) {
  const auto found = reported_.find({kind, warp.launch->kernel->index_of(in), other_code});
  if (found == reported_.end()) return false;
  if (found->second) ++findings_[*found->second].count;
  return true;
}

Sanitiser::Spot Sanitiser::locate(const Warp& warp, AccessMode mode, int lane, std::uint64_t address) {
  const auto in_shared = [&](std::uint64_t offset) -> Spot {
    const std::uint64_t rank = offset >> kRankShift;
    Block& block = rank == 0 ? *warp.block : *warp.block->cluster->blocks[rank - 1];
    offset &= (1u << kRankShift) - 1;
    BlockWatch& watch = block_watch(block);
    return {&watch.shared_written, &watch.shared, offset, 1ull << 63 | std::uint64_t{watch.number} << 24 | offset};
  };
  const auto in_local = [&](std::uint64_t offset) -> Spot {
    const std::size_t thread = warp.thread(lane);
    return {&block_watch(*warp.block).local_written, nullptr, warp.launch->kernel->local_bytes * thread + offset, 0};
  };
  switch (mode.where) {
    case Where::shared:
    case Where::cluster:
      return in_shared(address);
    case Where::local:
      return in_local(address);
    case Where::parameter:
      return {};
    case Where::generic:
      if (address - kSharedWindow < kWindowBytes) return in_shared(address - kSharedWindow);
      if (address - kLocalWindow < kWindowBytes) return in_local(address - kLocalWindow);
      if (address - kParameterWindow < kWindowBytes) return {};
      break;
    case Where::global:
      break;
  }
  if (last_ != nullptr && address - last_begin_ < last_->bytes) {
    return {&last_->written, last_->history.get(), address - last_begin_, address, last_};
  }
  const Allocation* allocation = warp.launch->memory->find(address);
  if (allocation == nullptr || allocation->read_only) return {};
  BufferWatch& watch = watch_of(*allocation);
  return {&watch.written, watch.history.get(), address - allocation->begin, address, &watch};
}

// ---- Accesses

Accessor Sanitiser::accessor(const Warp& warp, const Instruction& in, int lane, const MemoryOrder& order) const {
  const BlockWatch& watch = block_watch(*warp.block);
  const WarpWatch& mine = watch.warps[warp.index];
  Accessor by;
  by.block = watch.number;
  by.thread = warp.thread(lane);
  by.now = mine.now;
  by.code = warp.launch->kernel->index_of(in);
  by.known = mine.of(lane).known.get();
  by.meetings = &mine.meetings;
  by.flags.strong = order.strong;
  by.flags.block_scope = order.block_scope;
  return by;
}

void Sanitiser::load(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                     const Touched& touched, bool collective) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  Accessor by = accessor(warp, in, std::countr_zero(mask), order);
  by.collective = collective;
  std::uint32_t unwritten = 0, no_padding = 0;
  std::array<std::uint32_t, kLargestAccess> missing{};
  block_watch(*warp.block).warps[warp.index].has_read = true;
  const bool alike = block_watch(*warp.block).warps[warp.index].groups.size() == 1;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Spot spot = locate(warp, mode, lane, touched.address[lane]);
    if (spot.written == nullptr) continue;
    std::optional<Conflict> conflict;
    if (spot.history != nullptr) {
      by.thread = warp.thread(lane);
      if (order.strong) acquire(warp, lane, spot.key);
      if (!alike || order.strong) by.known = block_watch(*warp.block).warps[warp.index].of(lane).known.get();
      by.flags.reads_value =
          order.is_volatile && spot.in_shared() && !released_.contains(spot.key) && !uses_->polls(by.code);
      look_ahead(warp, in, lane, mode, bytes, touched.address[lane], spot, by.known);
      conflict = spot.history->read(spot.at, bytes, by);
      if (conflict) report_race(warp, in, lane, mode, bytes, touched.address[lane], *conflict);
    }
    // Bytes of a copy under way are unwritten too: the race alone is reported.
    if (spot.written->all(spot.at, bytes) || (conflict && conflict->under_way)) continue;
    unwritten |= 1u << lane;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, kLargestAccess); ++i)
      missing[i] |= static_cast<std::uint32_t>(!spot.written->at(spot.at + i)) << lane;
    if (!may_be_padding(*spot.written, spot.at, bytes)) no_padding |= 1u << lane;
  }
  if (unwritten == 0) return;
  const auto lane = static_cast<std::size_t>(std::countr_zero(unwritten));
  const auto what = [&] {
    return fmt::format("{} at {}, which nobody has written", bytes_text(false, bytes),
                       describe_place(warp, mode, touched.address[lane]));
  };
  const Kernel& kernel = *warp.launch->kernel;
  if (!collective && kernel.trace.traced[kernel.index_of(in)].op_class == OpClass::load)
    return loaded_unwritten(warp, in, std::span(missing).first(bytes),
                            {&in, static_cast<int>(lane), what(), no_padding, 0});
  for (std::uint32_t left = unwritten; left != 0; left &= left - 1)
    if (!reported(FindingKind::uninitialised, warp, in, kNowhere))
      report(FindingKind::uninitialised, warp, in, static_cast<int>(lane), what());
}

void Sanitiser::store(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                      const Touched& touched, std::uint32_t changed) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Spot spot = locate(warp, mode, lane, touched.address[lane]);
    if (spot.written == nullptr) continue;
    spot.written->set(spot.at, bytes, true);
    if (!block_watch(*warp.block).warps[warp.index].unwritten.empty()) stored_unwritten(warp, in, lane, bytes, spot);
    if (spot.history == nullptr) continue;
    Accessor by = accessor(warp, in, lane, order);
    by.flags.writes_value = order.is_volatile && only_writes_value(warp, lane, order, spot);
    look_ahead(warp, in, lane, mode, bytes, touched.address[lane], spot, by.known);
    const auto conflict = spot.history->write(spot.at, bytes, by);
    // Threads that write what is there already do no harm: many kernels set a flag from all threads.
    if (conflict && (conflict->under_way || (changed >> lane & 1u) != 0))
      report_race(warp, in, lane, mode, bytes, touched.address[lane], *conflict);
    if (order.strong) release(warp, lane, spot.key, order, true);
  }
  if (order.releases) ++block_watch(*warp.block).warps[warp.index].now;
}

void Sanitiser::atomic(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                       const Touched& touched) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Spot spot = locate(warp, mode, lane, touched.address[lane]);
    if (spot.written == nullptr) continue;
    if (!spot.written->all(spot.at, bytes)) {
      report(FindingKind::uninitialised, warp, in, lane,
             fmt::format("changes {} byte{} at {}, which nobody has written", bytes, bytes == 1 ? "" : "s",
                         describe_place(warp, mode, touched.address[lane])));
      spot.written->set(spot.at, bytes, true);
    }
    if (spot.history == nullptr) continue;
    acquire(warp, lane, spot.key);
    Accessor by = accessor(warp, in, lane, order);
    by.flags.writes_value = only_writes_value(warp, lane, order, spot);
    by.flags.sees_earlier = uses_->is_used(by.code);
    look_ahead(warp, in, lane, mode, bytes, touched.address[lane], spot, by.known);
    if (const auto conflict = spot.history->write(spot.at, bytes, by))
      report_race(warp, in, lane, mode, bytes, touched.address[lane], *conflict);
    release(warp, lane, spot.key, order, false);
  }
  if (order.releases) ++block_watch(*warp.block).warps[warp.index].now;
}

bool Sanitiser::only_writes_value(const Warp& warp, int lane, const MemoryOrder& order, const Spot& spot) const {
  if (!spot.in_shared() || order.releases) return false;
  const ThreadClocks& clocks = block_watch(*warp.block).warps[warp.index].of(lane);
  return clocks.released == nullptr && clocks.released_to_block == nullptr;
}

// ---- Order

/// Joins the clocks of the lanes, with all that they have done until now, into others.
void Sanitiser::join_clocks(Warp& warp, std::uint32_t lanes, JoinedClocks& into) {
  BlockWatch& watch = block_watch(*warp.block);
  WarpWatch& mine = watch.warps[warp.index];
  for (const WarpWatch::Group& group : mine.groups)
    if ((group.lanes & lanes) != 0) into.add(group.clocks);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1)
    into.raise(watch.number, warp.thread(std::countr_zero(left)), mine.now);
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
  if (whole && !block_watch(block).exited.empty()) {
    const ThreadClocks gone = block_watch(block).exited.take();
    all.add(gone);
    block_watch(block).exited.add(gone);
  }
  block_watch(block).of_barrier = all.take();
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
         fmt::format("{} at {}: a race with {}: no griddepcontrol.wait lies before it", bytes_text(mode.writes, bytes),
                     describe_place(warp, mode, address),
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
    for (std::uint32_t left = group.lanes & lanes; left != 0; left &= left - 1)
      all.raise(block_watch(*warp.block).number, warp.thread(std::countr_zero(left)), mine.now);
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

// ---- Reports

void Sanitiser::report(FindingKind kind, const Warp& warp, const Instruction& in, int lane, const std::string& what,
                       std::uint32_t other_code, const std::string& brief) {
  const Kernel& kernel = *warp.launch->kernel;
  const std::uint32_t code = warp.launch->kernel->index_of(in);
  Finding finding;
  finding.kind = kind;
  finding.kernel = kernel.name;
  finding.line = kernel.lines[code];
  finding.text = fmt::format("{}: {}", describe_thread(warp, in, lane), what);
  finding.brief = brief;
  reported_[{kind, code, other_code}] = add(finding, finding.line != 0 ? "" : std::to_string(code),
                                            other_code == kNowhere ? 0 : kernel.lines[other_code]);
}

namespace {

/// "thread (3, 0, 0)'s", "its own", "warp 2's" for what its tensor core does, "the" for a copy that a barrier
/// stands for.
std::string describe_other(const Warp& warp, int lane, const Conflict& conflict) {
  const auto at = [](const std::array<std::uint32_t, 3>& size, std::uint32_t linear) {
    return fmt::format("({}, {}, {})", linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]);
  };
  const BlockWatch& watch = block_watch(*warp.block);
  const bool own_block = conflict.block == watch.number;
  std::string who = fmt::format("thread {}'s", at(warp.launch->block, conflict.thread));
  if (own_block && conflict.thread == warp.thread(lane)) who = "its own";
  if (conflict.thread >= watch.product_thread(0)) {
    const std::uint32_t product = conflict.thread - watch.product_thread(0);
    who = product < watch.warps.size() ? fmt::format("warp {}'s", product) : "the";
  }
  return own_block ? who : fmt::format("block {}, {}", at(warp.launch->grid, conflict.block), who);
}

/// "'tile'" of "byte 4 of 'tile' (shared memory, 256 bytes)"
std::string name_in(const std::string& place) {
  const std::size_t begin = place.find('\''), end = place.find('\'', begin + 1);
  return end == std::string::npos ? "the same bytes" : place.substr(begin, end + 1 - begin);
}

/// What is missing between two accesses.
std::string missing_between(const Conflict& conflict, bool own_block, bool own_warp) {
  if (conflict.under_way) return "missing wait for an asynchronous copy";
  if (conflict.unfenced) return "missing fence.proxy.async";
  if (own_warp) return "missing __syncwarp";
  return own_block ? "missing __syncthreads" : "blocks race";
}

/// "missing __syncthreads: line 4 writes 'tile', line 6 reads it"; empty where a line is unknown.
std::string brief_race(const std::string& missing, const std::string& name, std::uint32_t earlier, bool earlier_writes,
                       std::uint32_t line, bool writes) {
  if (earlier == 0 || line == 0) return {};
  const auto verb = [](bool does_write) { return does_write ? "writes" : "reads"; };
  if (earlier == line && earlier_writes == writes)
    return fmt::format("several threads {} {} in line {}: nothing orders them", writes ? "write" : "read", name, line);
  // The write first, whichever came first in this schedule: either order is one mistake.
  if (writes && !earlier_writes) {
    std::swap(earlier, line);
    std::swap(earlier_writes, writes);
  }
  return fmt::format("{}: line {} {} {}, line {} {} it", missing, earlier, verb(earlier_writes), name, line,
                     verb(writes));
}

}  // namespace

void Sanitiser::report_race(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                            std::uint64_t address, const Conflict& conflict) {
  const Kernel& kernel = *warp.launch->kernel;
  if (reported(conflict.under_way ? FindingKind::unwaited_copy : FindingKind::race, warp, in, conflict.code)) return;
  const bool own_block = conflict.block == block_watch(*warp.block).number;
  const std::string who = describe_other(warp, lane, conflict);
  const std::uint32_t line = kernel.lines[conflict.code];
  const std::string other = fmt::format("{}{}", kernel.opcodes[kernel.opcode_of[conflict.code]],
                                        line != 0 ? fmt::format(" in line {}", line) : "");
  const std::string place = describe_place(warp, mode, address);
  const std::string doing = fmt::format("{} at {}", bytes_text(mode.writes, bytes), place);
  const bool own_warp = own_block && conflict.thread / 32 == warp.index;
  const std::string brief = brief_race(missing_between(conflict, own_block, own_warp), name_in(place), line,
                                       conflict.with_write, kernel.lines[kernel.index_of(in)], mode.writes);
  if (conflict.under_way) {
    report(FindingKind::unwaited_copy, warp, in, lane,
           fmt::format("{} while {} {} is under way there: it has not been waited for", doing, who, other),
           conflict.code, brief);
    return;
  }
  if (conflict.unfenced) {
    report(FindingKind::race, warp, in, lane,
           fmt::format("{}, asynchronously, what {} {} has written: without a fence.proxy.async it may see older bytes",
                       doing, who, other),
           conflict.code, brief);
    return;
  }
  const std::string remedy = own_warp    ? "no __syncwarp or other barrier lies between them"
                             : own_block ? "no barrier lies between them"
                                         : "nothing orders them (fence and atomic, or another launch)";
  report(FindingKind::race, warp, in, lane,
         fmt::format("{}: a race with {} {} ({}): {}", doing, who, other, conflict.with_write ? "a write" : "a read",
                     remedy),
         conflict.code, brief);
}

}  // namespace evo::vgpu

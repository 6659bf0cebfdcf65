#include "evaluator/vgpu/sanitiser/sanitiser.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "evaluator/vgpu/machine/access.h"

namespace evo::vgpu {
namespace {

/// Records of one place that are kept. In shared memory these are all: each thread has few. In global memory any number
/// of blocks may come.
constexpr std::size_t kMostRecordsShared = 1 << 16;
constexpr std::size_t kMostRecordsGlobal = 64;

std::uint32_t number_of(const Block& block) {
  const auto& grid = block.launch->grid;
  return (block.index[2] * grid[1] + block.index[1]) * grid[0] + block.index[0];
}

/// Whether the bytes of a load that nobody has written may be the padding of a struct: something around them has been
/// written. Padding is shorter than the alignment, which is 16 bytes at most.
bool may_be_padding(const ByteFlags& written, std::size_t at, std::size_t bytes) {
  const std::size_t begin = at / 16 * 16, end = std::min((at + bytes + 15) / 16 * 16, written.size());
  for (std::size_t i = begin; i < end; ++i)
    if (written.unwritten_bits(i) != 0xff) return true;
  return false;
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

BlockWatch::BlockWatch(const Block& block) : shared(block.shared.size(), kMostRecordsShared) {
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
  for (std::size_t i = 0; i < bytes; ++i)
    written.set_unwritten_bits(begin + to + i, written.unwritten_bits(begin + from + i));
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
  if (watch.history == nullptr) watch.history = std::make_unique<AccessHistory>(bytes, kMostRecordsGlobal);
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
    watch.read_only.reset();
  }
  last_ = nullptr;
  released_.clear();
  reported_.clear();
  seen_ = {};
  uses_.emplace(*launch.kernel);
  origins_.emplace(*launch.kernel);
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

void Sanitiser::note_missing(MissingBits& missing, const Spot& spot, int lane, std::uint32_t bytes) {
  auto& of_lane = missing[static_cast<std::size_t>(lane)];
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes, of_lane.size()); ++i)
    of_lane[i] = spot.written->unwritten_bits(spot.at + i);
}

void Sanitiser::load(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                     const Touched& touched, bool collective) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  Accessor by = accessor(warp, in, std::countr_zero(mask), order);
  by.collective = collective;
  std::uint32_t unwritten = 0;
  UnwrittenLoad load;
  load.in = &in;
  load.bytes = collective ? 0 : bytes;
  load.mode = mode;
  MissingBits missing;
  block_watch(*warp.block).warps[warp.index].has_read = true;
  const bool alike = block_watch(*warp.block).warps[warp.index].groups.size() == 1;
  by.sees = order.strong ? &seen_ : nullptr;
  for (const int lane : lanes_of(mask)) {
    const Spot spot = locate(warp, mode, lane, touched.address[lane]);
    if (spot.written == nullptr) continue;
    check_origin(warp, in, lane, mode, bytes, touched.address[lane], spot);
    std::optional<Conflict> conflict;
    if (spot.history != nullptr) {
      by.thread = warp.thread(lane);
      if (order.strong) acquire(warp, lane, spot.key);
      if (!alike || order.strong) by.known = block_watch(*warp.block).warps[warp.index].of(lane).known.get();
      by.flags.reads_value =
          order.is_volatile && !released_.contains(spot.key) && uses_->look_of(by.code) != ValueUses::Look::waits;
      look_ahead(warp, in, lane, mode, bytes, touched.address[lane], spot, by.known);
      conflict = spot.history->read(spot.at, bytes, by);
      if (conflict) report_race(warp, in, lane, mode, bytes, touched.address[lane], *conflict);
      if (order.read_only) read_only_read(warp, in, mode, bytes, touched.address[lane], spot);
      learn_seen(warp, lane);
    }
    // Bytes of a copy under way are unwritten too: the race alone is reported.
    if (spot.written->all(spot.at, bytes) || (conflict && conflict->under_way)) continue;
    if (unwritten == 0) missing = {};
    unwritten |= 1u << lane;
    note_missing(missing, spot, lane, bytes);
    if (!may_be_padding(*spot.written, spot.at, bytes)) load.no_padding |= 1u << lane;
    load.address[static_cast<std::size_t>(lane)] = touched.address[lane];
  }
  if (unwritten == 0) return;
  const auto lane = static_cast<std::size_t>(std::countr_zero(unwritten));
  const auto what = [&] {
    return describe_access("reads", warp, mode, bytes, touched.address[lane]) + ", which nobody has written";
  };
  load.lane = static_cast<int>(lane);
  const Kernel& kernel = *warp.launch->kernel;
  const OpClass op_class = kernel.trace.traced[kernel.index_of(in)].op_class;
  if (op_class == OpClass::load || op_class == OpClass::matrix_load) {
    if (!collective || kernel.opcode_at(kernel.index_of(in)).starts_with("ldmatrix")) {
      load.what = what();
      return collective ? loaded_matrices(warp, in, missing, std::move(load))
                        : loaded_unwritten(warp, in, bytes, missing, std::move(load));
    }
  }
  for (int count = std::popcount(unwritten); count > 0; --count)
    if (!reported(FindingKind::uninitialised, warp, in, kNowhere))
      report(FindingKind::uninitialised, warp, in, static_cast<int>(lane), what());
}

void Sanitiser::store(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                      const Touched& touched, std::uint32_t changed) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  for (const int lane : lanes_of(mask)) {
    const Spot spot = locate(warp, mode, lane, touched.address[lane]);
    if (spot.written == nullptr) continue;
    check_origin(warp, in, lane, mode, bytes, touched.address[lane], spot);
    spot.written->set(spot.at, bytes, true);
    if (!block_watch(*warp.block).warps[warp.index].unwritten.empty()) stored_unwritten(warp, in, lane, bytes, spot);
    if (spot.history == nullptr) continue;
    Accessor by = accessor(warp, in, lane, order);
    by.flags.writes_value = order.is_volatile && only_writes_value(warp, lane, order, spot);
    look_ahead(warp, in, lane, mode, bytes, touched.address[lane], spot, by.known);
    auto conflict = spot.history->write(spot.at, bytes, by);
    // Threads that write what is there already do no harm: many kernels set a flag from all threads.
    if (conflict) conflict->same_bytes = (changed >> lane & 1u) == 0;
    if (conflict) report_race(warp, in, lane, mode, bytes, touched.address[lane], *conflict);
    written_while_read_only(warp, in, bytes, spot);
    if (order.strong) release(warp, lane, spot.key, order, true);
  }
  if (order.releases) ++block_watch(*warp.block).warps[warp.index].now;
}

void Sanitiser::atomic(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                       const Touched& touched) {
  const MemoryOrder order = MemoryOrder::decoded(in.aux0);
  // What an exchange takes away is a load like others: it may be thrown away.
  const bool exchanges =
      warp.launch->kernel->opcode_at(warp.launch->kernel->index_of(in)).find(".exch") != std::string::npos;
  std::uint32_t unwritten = 0;
  MissingBits missing;
  for (const int lane : lanes_of(mask)) {
    const Spot spot = locate(warp, mode, lane, touched.address[lane]);
    if (spot.written == nullptr) continue;
    check_origin(warp, in, lane, mode, bytes, touched.address[lane], spot);
    if (!spot.written->all(spot.at, bytes)) {
      if (exchanges) {
        if (unwritten == 0) missing = {};
        note_missing(missing, spot, lane, bytes);
        unwritten |= 1u << lane;
      } else {
        report(FindingKind::uninitialised, warp, in, lane,
               describe_access("changes", warp, mode, bytes, touched.address[lane]) + ", which nobody has written");
      }
      spot.written->set(spot.at, bytes, true);
    }
    if (spot.history == nullptr) continue;
    acquire(warp, lane, spot.key);
    Accessor by = accessor(warp, in, lane, order);
    by.flags.writes_value = spot.in_shared() && only_writes_value(warp, lane, order, spot);
    by.sees = uses_->is_used(by.code) ? &seen_ : nullptr;
    look_ahead(warp, in, lane, mode, bytes, touched.address[lane], spot, by.known);
    if (const auto conflict = spot.history->write(spot.at, bytes, by))
      report_race(warp, in, lane, mode, bytes, touched.address[lane], *conflict);
    learn_seen(warp, lane);
    written_while_read_only(warp, in, bytes, spot);
    release(warp, lane, spot.key, order, false);
  }
  if (order.releases) ++block_watch(*warp.block).warps[warp.index].now;
  if (unwritten == 0) return;
  const int lane = std::countr_zero(unwritten);
  loaded_unwritten(
      warp, in, bytes, missing,
      {&in, lane, describe_access("takes", warp, mode, bytes, touched.address[lane]) + ", which nobody has written",
       unwritten, 0});
}

/// What another array's neighbour holds is no out-of-bounds access for the hardware, but none that the source means.
void Sanitiser::check_origin(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                             std::uint64_t address, const Spot& spot) {
  const Kernel& kernel = *warp.launch->kernel;
  const std::uint32_t code = kernel.index_of(in);
  if (!origins_->knows(code) || spot.buffer != nullptr) return;
  const bool local = spot.history == nullptr;
  const auto offset = static_cast<std::uint32_t>(address) & (local ? ~0u : (1u << kRankShift) - 1);
  const VariableAddress* left =
      origins_->left_by(code, lane, block_watch(*warp.block).warps[warp.index].origins, local, offset, bytes);
  if (left == nullptr || reported(FindingKind::bad_access, warp, in, kNowhere)) return;
  const std::int64_t ahead = std::int64_t{left->begin} - offset, behind = std::int64_t{offset} - left->end;
  const std::string where = behind == 0   ? "right behind the end"
                            : ahead > 0   ? fmt::format("{} bytes before the begin", ahead)
                            : behind >= 0 ? fmt::format("{} bytes behind the end", behind)
                                          : fmt::format("the last {} of them behind the end", behind + bytes);
  const std::string size =
      left->end == kNowhere ? "dynamic shared memory"
                            : fmt::format("{} memory, {} bytes", local ? "local" : "shared", left->end - left->begin);
  report(FindingKind::bad_access, warp, in, lane,
         fmt::format("{}, {} of '{}' ({}), from which the address comes",
                     describe_access(mode.writes ? "writes" : "reads", warp, mode, bytes, address), where, left->name,
                     size));
}

void Sanitiser::read_only_read(const Warp& warp, const Instruction& in, AccessMode mode, std::uint32_t bytes,
                               std::uint64_t address, const Spot& spot) {
  if (spot.buffer == nullptr) return;
  const std::uint32_t code = warp.launch->kernel->index_of(in);
  auto& reads = spot.buffer->read_only;
  if (reads == nullptr) reads = std::make_unique<ReadOnlyReads>(spot.buffer->bytes);
  reads->record(spot.at, bytes, code);
  if (const auto writer = spot.history->last_writer(spot.at, bytes))
    report_stale(warp, code, *writer, describe_access("reads", warp, mode, bytes, address));
}

void Sanitiser::written_while_read_only(const Warp& warp, const Instruction& in, std::uint32_t bytes,
                                        const Spot& spot) {
  if (spot.buffer == nullptr || spot.buffer->read_only == nullptr) return;
  const auto reader = spot.buffer->read_only->reader_of(spot.at, bytes);
  if (!reader) return;
  const AccessMode mode{Where::global, true, false};
  report_stale(warp, *reader, warp.launch->kernel->index_of(in), describe_access("reads", warp, mode, bytes, spot.key));
}

bool Sanitiser::only_writes_value(const Warp& warp, int lane, const MemoryOrder& order, const Spot& spot) const {
  if (order.releases) return false;
  const ThreadClocks& clocks = block_watch(*warp.block).warps[warp.index].of(lane);
  return clocks.released == nullptr && (!spot.in_shared() || clocks.released_to_block == nullptr);
}

}  // namespace evo::vgpu

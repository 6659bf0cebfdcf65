#include "evaluator/vgpu/sanitiser/access_history.h"

#include <algorithm>
#include <bit>
#include <ranges>

#include "evaluator/vgpu/machine/instruction.h"

namespace evo::vgpu {
namespace {

/// Numbers for writes that are seen. They make clocks longer, so a launch has this many; further ones stay unseen.
constexpr std::uint32_t kMostSeen = 2048;

/// Whether both are strong for the other's block.
bool strong_together(AccessFlags a, AccessFlags b, bool same_block) {
  return a.strong && b.strong && (same_block || (!a.block_scope && !b.block_scope));
}

bool compatible(AccessFlags a, AccessFlags b, bool same_block) {
  if (!a.writes && !b.writes) return true;
  if ((a.reads_value && b.writes_value) || (b.reads_value && a.writes_value)) return false;
  return strong_together(a, b, same_block);
}

/// Whether all that conflicts with `old` conflicts with `fresh`, too. Accesses of block scope are compared with those
/// of the same block; the rare mixtures of scopes across blocks are not told apart.
bool stands_for(const AccessRecord& fresh, const AccessRecord& old) {
  const AccessFlags f = fresh.flags, o = old.flags;
  if (o.writes && !f.writes) return false;
  if (!f.strong) return true;
  if (!o.strong || (o.reads_value && !f.reads_value) || (o.writes_value && !f.writes_value)) return false;
  return f.block_scope || !o.block_scope;
}

/// The thread sees a strong write. What it does next happens after it.
void see(AccessRecord& write, SeenWrites& seen) {
  if (write.seen == 0 && seen.given < kMostSeen) write.seen = ++seen.given;
  if (write.seen != 0) seen.fresh.push_back(write.seen);
}

std::optional<Conflict> conflict_with(const AccessRecord& old, const Accessor& by) {
  if (old.time == 0 || compatible(old.flags, by.flags, old.block == by.block)) return std::nullopt;
  const std::uint32_t left = by.unordered(old);
  const auto conflict = [&](std::uint32_t lanes, bool unfenced) {
    return Conflict{old.flags.writes,
                    old.time == kUnderWay && !unfenced,
                    old.flags.asynchronous && !unfenced,
                    unfenced,
                    strong_together(old.flags, by.flags, old.block == by.block),
                    false,
                    old.block,
                    old.thread(static_cast<std::uint32_t>(std::countr_zero(lanes))),
                    old.code};
  };
  if (left != 0) return conflict(left, false);
  // The copy engine and the tensor cores read what threads have written only behind a proxy fence.
  if (by.flags.writes || !by.flags.asynchronous || old.flags.asynchronous) return std::nullopt;
  std::uint32_t hidden = 0;
  for (const std::uint32_t lane : lanes_of(old.lanes))
    if (by.proxied == nullptr || by.proxied->time_of(old.block, old.thread(lane)) < old.time) hidden |= 1u << lane;
  if (hidden == 0) return std::nullopt;
  return conflict(hidden, true);
}

}  // namespace

std::uint32_t Accessor::met(const AccessRecord& read) const {
  if (meetings == nullptr || read.flags.asynchronous || read.block != block || read.warp != thread / 32) return 0;
  std::uint32_t lanes = 0;
  for (const Meeting& meeting : *meetings)
    if (read.time <= meeting.time && (meeting.lanes >> thread % 32 & 1u) != 0) lanes |= meeting.lanes;
  return lanes;
}

bool Accessor::knows(const AccessRecord& old, std::uint32_t lane) const {
  if (!collective && old.block == block && old.thread(lane) == thread) return true;
  return known != nullptr && known->time_of(old.block, old.thread(lane)) >= old.time;
}

std::uint32_t Accessor::unordered(const AccessRecord& old) const {
  if (old.time == kUnderWay) return old.lanes;
  if (old.seen != 0 && known != nullptr && known->time_of(kSeenWrites, old.seen) != 0) return 0;
  if (old.block != block && (known == nullptr || !known->has(old.block))) return old.lanes;
  std::uint32_t lanes = 0;
  for (const std::uint32_t lane : lanes_of(old.lanes))
    if (!knows(old, lane)) lanes |= 1u << lane;
  return old.flags.writes || lanes == 0 ? lanes : lanes & ~met(old);
}

AccessHistory::Page& AccessHistory::page_for(std::size_t number, std::uint32_t shift) {
  if (pages_[number] == nullptr) pages_[number] = std::make_unique<Page>();
  Page& page = *pages_[number];
  if (page.cells.empty()) {
    page.shift = shift;
    page.cells.assign(kPageBytes >> shift, Cell{});
    used_.push_back(static_cast<std::uint32_t>(number));
  } else if (page.shift > shift) {
    refine(page, shift);
  }
  return page;
}

void AccessHistory::refine(Page& page, std::uint32_t shift) {
  std::vector<Cell> fine(kPageBytes >> shift);
  const std::size_t parts = std::size_t{1} << (page.shift - shift);
  for (std::size_t i = 0; i < fine.size(); ++i) {
    fine[i] = page.cells[i / parts];
    if (i % parts == 0 || fine[i].more == kNone) continue;
    const std::uint32_t list = new_list();
    lists_[list] = lists_[fine[i].more];
    fine[i].more = list;
  }
  page.cells = std::move(fine);
  page.shift = shift;
}

std::uint32_t AccessHistory::new_list() {
  if (free_lists_.empty()) {
    lists_.emplace_back();
    return static_cast<std::uint32_t>(lists_.size() - 1);
  }
  const std::uint32_t list = free_lists_.back();
  free_lists_.pop_back();
  lists_[list].clear();
  return list;
}

template <class Body>
void AccessHistory::each_cell(std::size_t at, std::size_t bytes, Body body) {
  const auto shift = static_cast<std::uint32_t>(std::min(std::countr_zero(at | bytes), 4));
  while (bytes > 0) {
    const std::size_t inside = at % kPageBytes;
    const std::size_t here = std::min(kPageBytes - inside, bytes);
    Page& page = page_for(at / kPageBytes, shift);
    const std::size_t end = (inside + here) >> page.shift;
    for (std::size_t cell = inside >> page.shift; cell < end; ++cell) body(page.cells[cell]);
    at += here;
    bytes -= here;
  }
}

void AccessHistory::clear() {
  for (const std::uint32_t page : used_) pages_[page]->cells.clear();
  used_.clear();
  lists_.clear();
  free_lists_.clear();
}

/// The latest write first, then earlier ones, then reads.
std::optional<Conflict> AccessHistory::conflict_in(const Cell& cell, const Accessor& by) const {
  if (auto conflict = conflict_with(cell.write, by)) return conflict;
  if (cell.more != kNone)
    for (const AccessRecord& old : lists_[cell.more] | std::views::reverse)
      if (old.flags.writes)
        if (auto conflict = conflict_with(old, by)) return conflict;
  if (!by.flags.writes) return std::nullopt;
  if (auto conflict = conflict_with(cell.read, by)) return conflict;
  if (cell.more != kNone)
    for (const AccessRecord& old : lists_[cell.more])
      if (!old.flags.writes)
        if (auto conflict = conflict_with(old, by)) return conflict;
  return std::nullopt;
}

void AccessHistory::record(Cell& cell, const Accessor& by, std::uint32_t time, bool races) {
  AccessRecord fresh;
  fresh.time = time;
  fresh.block = by.block;
  fresh.code = by.code;
  fresh.lanes = 1u << by.thread % 32;
  fresh.warp = static_cast<std::uint16_t>(by.thread / 32);
  fresh.flags = by.flags;
  const auto merges = [&](AccessRecord& old) {
    if (old.time != time || old.warp != fresh.warp || old.block != fresh.block || old.flags != fresh.flags)
      return false;
    if (old.seen != 0 || (time == kUnderWay && (fresh.flags.writes || old.code != fresh.code))) return false;
    old.lanes |= fresh.lanes;
    old.code = fresh.code;
    return true;
  };
  AccessRecord& latest = fresh.flags.writes ? cell.write : cell.read;
  const bool alone = !fresh.flags.writes || (cell.read.time == 0 && cell.more == kNone);
  if (by.sees == nullptr && !races && alone && merges(latest)) return;
  const auto is_gone = [&](AccessRecord& old) {
    if (old.time == 0) return true;
    const std::uint32_t left = by.unordered(old);
    const bool replaced = stands_for(fresh, old);
    if (left == 0) return replaced;
    if (!compatible(old.flags, fresh.flags, old.block == fresh.block)) return fresh.flags.writes;
    if (by.sees != nullptr && old.flags.writes && old.time != kUnderWay) {
      if (replaced) return true;
      see(old, *by.sees);
    }
    if (replaced) old.lanes = left;
    return false;
  };
  if (is_gone(cell.write)) cell.write = {};
  if (is_gone(cell.read)) cell.read = {};
  if (cell.more != kNone) {
    std::vector<AccessRecord>& list = lists_[cell.more];
    std::erase_if(list, is_gone);
    if (merges(latest) || std::ranges::any_of(list, merges)) return;
    if (list.empty()) {
      free_lists_.push_back(cell.more);
      cell.more = kNone;
    }
  }
  if (merges(latest)) return;
  if (latest.time != 0) keep(cell, latest);
  latest = fresh;
}

void AccessHistory::keep(Cell& cell, const AccessRecord& record) {
  if (cell.more == kNone) cell.more = new_list();
  std::vector<AccessRecord>& list = lists_[cell.more];
  if (list.size() >= most_) {
    const auto strong = std::ranges::find_if(list, [](const AccessRecord& old) { return old.flags.strong; });
    list.erase(strong != list.end() ? strong : list.begin());
  }
  list.push_back(record);
}

std::optional<Conflict> AccessHistory::access(std::size_t at, std::size_t bytes, const Accessor& by, bool writes,
                                              std::uint32_t time) {
  Accessor whole = by;
  whole.flags.writes = writes;
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](Cell& cell) {
    const auto conflict = conflict_in(cell, whole);
    if (!first) first = conflict;
    record(cell, whole, time, conflict.has_value());
  });
  return first;
}

std::optional<Conflict> AccessHistory::read(std::size_t at, std::size_t bytes, const Accessor& by) {
  return access(at, bytes, by, false, by.now);
}

std::optional<Conflict> AccessHistory::write(std::size_t at, std::size_t bytes, const Accessor& by) {
  return access(at, bytes, by, true, by.now);
}

std::optional<Conflict> AccessHistory::begin_write(std::size_t at, std::size_t bytes, const Accessor& by) {
  return access(at, bytes, by, true, kUnderWay);
}

std::optional<Conflict> AccessHistory::begin_read(std::size_t at, std::size_t bytes, const Accessor& by) {
  return access(at, bytes, by, false, kUnderWay);
}

std::optional<Conflict> AccessHistory::check(std::size_t at, std::size_t bytes, const Accessor& by, bool writes) {
  Accessor whole = by;
  whole.flags.writes = writes;
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](const Cell& cell) {
    if (!first) first = conflict_in(cell, whole);
  });
  return first;
}

std::optional<std::uint32_t> AccessHistory::last_writer(std::size_t at, std::size_t bytes) {
  std::optional<std::uint32_t> code;
  each_cell(at, bytes, [&](const Cell& cell) {
    if (!code && cell.write.time != 0) code = cell.write.code;
  });
  return code;
}

template <class Body>
void AccessHistory::each_under_way(std::size_t at, std::size_t bytes, const Accessor& by, bool writes, Body body) {
  const auto look_at = [&](AccessRecord& old) {
    if (old.time == kUnderWay && old.flags.writes == writes && old.code == by.code && old.block == by.block &&
        old.warp == by.thread / 32)
      body(old);
  };
  each_cell(at, bytes, [&](Cell& cell) {
    look_at(writes ? cell.write : cell.read);
    if (cell.more == kNone) return;
    for (AccessRecord& old : lists_[cell.more]) look_at(old);
  });
}

void AccessHistory::end_write(std::size_t at, std::size_t bytes, const Accessor& by, std::uint32_t block,
                              std::uint32_t thread, std::uint32_t time) {
  each_under_way(at, bytes, by, true, [&](AccessRecord& old) {
    old.block = block;
    old.warp = static_cast<std::uint16_t>(thread / 32);
    old.lanes = 1u << thread % 32;
    old.time = time;
  });
}

void AccessHistory::end_read(std::size_t at, std::size_t bytes, const Accessor& by) {
  // The lanes of one instruction end together, or one of them stands for all.
  each_under_way(at, bytes, by, false, [&](AccessRecord& old) {
    if ((old.lanes >> by.thread % 32 & 1u) != 0) old.time = by.now;
  });
}

void AccessHistory::end_read(std::size_t at, std::size_t bytes, const Accessor& by, std::uint32_t block,
                             std::uint32_t thread, std::uint32_t time) {
  each_under_way(at, bytes, by, false, [&](AccessRecord& old) {
    if ((old.lanes >> by.thread % 32 & 1u) == 0) return;
    old.block = block;
    old.warp = static_cast<std::uint16_t>(thread / 32);
    old.lanes = 1u << thread % 32;
    old.time = time;
  });
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/sanitiser/access_history.h"

#include <algorithm>
#include <bit>

#include "evaluator/vgpu/machine/instruction.h"

namespace evo::vgpu {
namespace {

/// Strong accesses race with each other only where one is strong for its own block alone.
bool atomic_to_each_other(AccessFlags a, AccessFlags b, bool same_block) {
  if ((a.reads_value && b.writes_value) || (b.reads_value && a.writes_value)) return false;
  return a.strong && b.strong && (same_block || (!a.block_scope && !b.block_scope));
}

std::uint32_t thread_of(const ReadRecord& read, std::uint32_t lane) {
  return read.warp * 32u + lane;
}

/// The first lane of a record whose reading may not be over for the accessor; 32 when there is none.
std::uint32_t first_unknown(const ReadRecord& read, const Accessor& by) {
  for (const std::uint32_t lane : lanes_of(read.lanes)) {
    if (!by.knows(read.block, thread_of(read, lane), read.time)) return lane;
  }
  return 32;
}

std::optional<Conflict> conflict_with(const ReadRecord& read, const Accessor& by) {
  if (read.time == 0 || atomic_to_each_other(read.flags, by.flags, read.block == by.block)) return std::nullopt;
  ReadRecord left = read;
  left.lanes &= ~by.met(read);
  const std::uint32_t lane = first_unknown(left, by);
  if (lane == 32) return std::nullopt;
  return Conflict{false,    read.time == kUnderWay, read.flags.asynchronous, false, read.block, thread_of(read, lane),
                  read.code};
}

}  // namespace

std::uint32_t Accessor::met(const ReadRecord& read) const {
  if (meetings == nullptr || read.flags.asynchronous || read.block != block || read.warp != thread / 32) return 0;
  std::uint32_t lanes = 0;
  for (const Meeting& meeting : *meetings)
    if (read.time <= meeting.time && (meeting.lanes >> thread % 32 & 1u) != 0) lanes |= meeting.lanes;
  return lanes;
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
    if (i % parts == 0) continue;
    if (fine[i].earlier != kNone) {
      writes_.push_back(WriteRecord(writes_[fine[i].earlier]));
      fine[i].earlier = static_cast<std::uint32_t>(writes_.size() - 1);
    }
    if (fine[i].more == kNone) continue;
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
  writes_.clear();
  free_writes_.clear();
}

namespace {

std::optional<Conflict> conflict_with(const WriteRecord& write, const Accessor& by) {
  if (write.time == 0) return std::nullopt;
  if (by.knows(write.block, write.thread, write.time)) {
    const bool visible = !by.flags.asynchronous || write.flags.asynchronous ||
                         (by.proxied != nullptr && by.proxied->time_of(write.block, write.thread) >= write.time);
    if (visible) return std::nullopt;
    return Conflict{true, false, false, true, write.block, write.thread, write.code};
  }
  if (atomic_to_each_other(write.flags, by.flags, write.block == by.block)) return std::nullopt;
  return Conflict{true,      write.time == kUnderWay, write.flags.asynchronous, false, write.block, write.thread,
                  write.code};
}

}  // namespace

std::optional<Conflict> AccessHistory::conflict_with_write(const Cell& cell, const Accessor& by) const {
  if (auto conflict = conflict_with(cell.write, by)) return conflict;
  return cell.earlier == kNone ? std::nullopt : conflict_with(writes_[cell.earlier], by);
}

std::optional<Conflict> AccessHistory::conflict_with_reads(const Cell& cell, const Accessor& by) const {
  if (auto conflict = conflict_with(cell.read, by)) return conflict;
  if (cell.more == kNone) return std::nullopt;
  for (const ReadRecord& read : lists_[cell.more])
    if (auto conflict = conflict_with(read, by)) return conflict;
  return std::nullopt;
}

void AccessHistory::record_read(Cell& cell, const Accessor& by, std::uint32_t time) {
  const ReadRecord fresh{time,    by.block, by.code, 1u << by.thread % 32, static_cast<std::uint16_t>(by.thread / 32),
                         by.flags};
  const auto merges = [&](ReadRecord& old) {
    if (old.time != time || old.warp != fresh.warp || old.block != fresh.block) return false;
    if (old.flags.asynchronous != fresh.flags.asynchronous || (time == kUnderWay && old.code != fresh.code))
      return false;
    old.lanes |= fresh.lanes;
    old.code = fresh.code;
    if (!fresh.flags.strong) old.flags.strong = false;
    old.flags.reads_value |= fresh.flags.reads_value;
    return true;
  };
  if (merges(cell.read)) return;
  // Reads that happen before this one can be dropped: an access that is ordered after this one is ordered after them.
  const auto stands_for = [&](const ReadRecord& old) {
    return !fresh.flags.strong || (old.flags.strong && (fresh.flags.reads_value || !old.flags.reads_value));
  };
  const auto is_over = [&](const ReadRecord& old) {
    return old.time == 0 || (first_unknown(old, by) == 32 && stands_for(old));
  };
  if (cell.more == kNone) {
    if (is_over(cell.read)) {
      cell.read = fresh;
      return;
    }
    cell.more = new_list();
  } else {
    for (ReadRecord& old : lists_[cell.more])
      if (merges(old)) return;
    std::erase_if(lists_[cell.more], is_over);
    if (is_over(cell.read)) {
      cell.read = fresh;
      return;
    }
  }
  std::vector<ReadRecord>& list = lists_[cell.more];
  if (list.size() >= most_reads_) list.erase(list.begin());
  list.push_back(fresh);
}

/// Strong writes do not race with each other, but each may with a plain access that follows. One is remembered besides
/// the latest.
void AccessHistory::keep_earlier(Cell& cell, const Accessor& by, std::uint32_t time) {
  const bool adds = by.flags.strong && !by.flags.sees_earlier && time != kUnderWay;
  const WriteRecord& latest = cell.write;
  const auto unordered = [&](const WriteRecord& write) { return !by.knows(write.block, write.thread, write.time); };
  if (adds && latest.time != 0 && latest.flags.strong && unordered(latest)) {
    if (cell.earlier == kNone) {
      if (free_writes_.empty()) {
        free_writes_.push_back(static_cast<std::uint32_t>(writes_.size()));
        writes_.emplace_back();
      }
      cell.earlier = free_writes_.back();
      free_writes_.pop_back();
    }
    writes_[cell.earlier] = latest;
    return;
  }
  if (cell.earlier == kNone || (adds && unordered(writes_[cell.earlier]))) return;
  free_writes_.push_back(cell.earlier);
  cell.earlier = kNone;
}

void AccessHistory::record_write(Cell& cell, const Accessor& by, std::uint32_t time) {
  keep_earlier(cell, by, time);
  cell.write = {time, by.block, by.code, static_cast<std::uint16_t>(by.thread), by.flags};
  cell.read = {};
  if (cell.more == kNone) return;
  free_lists_.push_back(cell.more);
  cell.more = kNone;
}

std::optional<Conflict> AccessHistory::read(std::size_t at, std::size_t bytes, const Accessor& by) {
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](Cell& cell) {
    if (auto conflict = conflict_with_write(cell, by); conflict && !first) first = conflict;
    record_read(cell, by, by.now);
  });
  return first;
}

std::optional<Conflict> AccessHistory::write(std::size_t at, std::size_t bytes, const Accessor& by) {
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](Cell& cell) {
    if (auto conflict = conflict_with_write(cell, by); conflict && !first) first = conflict;
    if (auto conflict = conflict_with_reads(cell, by); conflict && !first) first = conflict;
    record_write(cell, by, by.now);
  });
  return first;
}

std::optional<Conflict> AccessHistory::check(std::size_t at, std::size_t bytes, const Accessor& by, bool writes) {
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](const Cell& cell) {
    if (first) return;
    first = conflict_with_write(cell, by);
    if (!first && writes) first = conflict_with_reads(cell, by);
  });
  return first;
}

std::optional<Conflict> AccessHistory::begin_write(std::size_t at, std::size_t bytes, const Accessor& by) {
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](Cell& cell) {
    auto overwrites = conflict_with_write(cell, by);
    if (overwrites && !overwrites->unfenced && !first) first = overwrites;
    if (auto conflict = conflict_with_reads(cell, by); conflict && !first) first = conflict;
    record_write(cell, by, kUnderWay);
  });
  return first;
}

void AccessHistory::end_write(std::size_t at, std::size_t bytes, std::uint32_t code, std::uint32_t block,
                              std::uint32_t thread, std::uint32_t time) {
  each_cell(at, bytes, [&](Cell& cell) {
    // Another write has come since; that has been reported.
    if (cell.write.time != kUnderWay || cell.write.code != code) return;
    cell.write.block = block;
    cell.write.thread = static_cast<std::uint16_t>(thread);
    cell.write.time = time;
  });
}

std::optional<Conflict> AccessHistory::begin_read(std::size_t at, std::size_t bytes, const Accessor& by) {
  std::optional<Conflict> first;
  each_cell(at, bytes, [&](Cell& cell) {
    if (auto conflict = conflict_with_write(cell, by); conflict && !first) first = conflict;
    record_read(cell, by, kUnderWay);
  });
  return first;
}

/// Those that the accessor's thread has begun.
template <class Body>
void AccessHistory::each_read_under_way(std::size_t at, std::size_t bytes, const Accessor& by, Body body) {
  const auto is_own = [&](const ReadRecord& read) {
    return read.time == kUnderWay && read.block == by.block && read.warp == by.thread / 32 && read.code == by.code &&
           (read.lanes >> by.thread % 32 & 1u) != 0;
  };
  each_cell(at, bytes, [&](Cell& cell) {
    if (is_own(cell.read)) body(cell.read);
    if (cell.more == kNone) return;
    for (ReadRecord& read : lists_[cell.more])
      if (is_own(read)) body(read);
  });
}

void AccessHistory::end_read(std::size_t at, std::size_t bytes, const Accessor& by) {
  // The lanes of one instruction end together, or one of them stands for all.
  each_read_under_way(at, bytes, by, [&](ReadRecord& read) { read.time = by.now; });
}

void AccessHistory::end_read(std::size_t at, std::size_t bytes, const Accessor& by, std::uint32_t block,
                             std::uint32_t thread, std::uint32_t time) {
  each_read_under_way(at, bytes, by, [&](ReadRecord& read) {
    read.block = block;
    read.warp = static_cast<std::uint16_t>(thread / 32);
    read.lanes = 1u << thread % 32;
    read.time = time;
  });
}

}  // namespace evo::vgpu

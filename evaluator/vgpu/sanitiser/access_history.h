#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "evaluator/vgpu/sanitiser/vector_clock.h"

/// The accesses of a piece of memory that later ones must be ordered with: the last write, and the reads since.
namespace evo::vgpu {

/// The time of an access that is still under way. No clock reaches it.
constexpr std::uint32_t kUnderWay = 0xffff'ffffu;

/// How an access takes part in races.
struct AccessFlags {
  bool strong = false;        ///< Atomic, volatile, relaxed or stronger: such accesses do not race with each other.
  bool block_scope = false;   ///< Strong only among the threads of a block.
  bool asynchronous = false;  ///< By the copy engine or the tensor cores.
  /// A volatile read of a value in shared memory, and a strong write of one. No fence makes a hand-over of them, and
  /// the reader does not wait for the value: they race with each other like plain accesses.
  bool reads_value = false;
  bool writes_value = false;
  bool sees_earlier = false;  ///< An atomic whose result is used: it comes after the strong writes before it.
};

struct WriteRecord {
  std::uint32_t time = 0;  ///< 0: there is none.
  std::uint32_t block = 0;
  std::uint32_t code = 0;    ///< The instruction.
  std::uint16_t thread = 0;  ///< Of the block; behind them its mbarriers.
  AccessFlags flags;
};

/// Reads of one warp at one time.
struct ReadRecord {
  std::uint32_t time = 0;
  std::uint32_t block = 0;
  std::uint32_t code = 0;
  std::uint32_t lanes = 0;
  std::uint16_t warp = 0;
  AccessFlags flags;
};

/// Lanes of a warp that have met at a shuffle or vote. What they loaded before is in their registers by then.
struct Meeting {
  std::uint32_t lanes = 0;
  std::uint32_t time = 0;
};

/// An access's thread, and the clocks that order it.
struct Accessor {
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t now = 0;
  std::uint32_t code = 0;
  const VectorClock* known = nullptr;  ///< Null: only the thread's own accesses happen before.
  AccessFlags flags;
  const VectorClock* proxied = nullptr;            ///< For asynchronous accesses: what a proxy fence shows them.
  const std::vector<Meeting>* meetings = nullptr;  ///< Of the warp, the latest of each set of lanes.
  bool collective = false;  ///< By the warp as a whole: even the thread's own accesses must be in `known`.

  bool knows(std::uint32_t of_block, std::uint32_t of_thread, std::uint32_t time) const {
    if (time == kUnderWay) return false;
    if (!collective && of_block == block && of_thread == thread) return true;
    return known != nullptr && known->time_of(of_block, of_thread) >= time;
  }
  /// The lanes of the own warp that had read when they met the thread's lane.
  std::uint32_t met(const ReadRecord& read) const;
};

/// What an access races with.
struct Conflict {
  bool with_write = false;
  bool under_way = false;
  bool asynchronous = false;
  bool unfenced = false;  ///< Ordered, but no fence lets the asynchronous access see the write.
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t code = 0;
};

class AccessHistory {
 public:
  /// `most_reads`: how many unordered reads of one place are kept in addition to the first. Older ones are dropped.
  AccessHistory(std::size_t bytes, std::size_t most_reads)
      : most_reads_(most_reads), pages_((bytes + kPageBytes - 1) / kPageBytes) {}

  /// Each looks at all bytes, records the access, and says what it races with.
  std::optional<Conflict> read(std::size_t at, std::size_t bytes, const Accessor& by);
  std::optional<Conflict> write(std::size_t at, std::size_t bytes, const Accessor& by);
  /// Looks without recording.
  std::optional<Conflict> check(std::size_t at, std::size_t bytes, const Accessor& by, bool writes);

  /// An asynchronous write: under way from now on, checked like a write.
  std::optional<Conflict> begin_write(std::size_t at, std::size_t bytes, const Accessor& by);
  /// It is over for all who have reached `time` of `thread`.
  void end_write(std::size_t at, std::size_t bytes, std::uint32_t code, std::uint32_t block, std::uint32_t thread,
                 std::uint32_t time);
  /// Asynchronous reads of a thread, until they end at `time`.
  std::optional<Conflict> begin_read(std::size_t at, std::size_t bytes, const Accessor& by);
  void end_read(std::size_t at, std::size_t bytes, const Accessor& by);
  /// Likewise, but over for all who have reached `time` of another thread.
  void end_read(std::size_t at, std::size_t bytes, const Accessor& by, std::uint32_t block, std::uint32_t thread,
                std::uint32_t time);

  void clear();

 private:
  static constexpr std::size_t kPageBytes = 1024;
  static constexpr std::uint32_t kNone = 0xffff'ffffu;
  struct Cell {
    WriteRecord write;
    ReadRecord read;
    std::uint32_t more = kNone;     ///< Further reads: index into lists_.
    std::uint32_t earlier = kNone;  ///< A strong write before `write` that nothing orders with it: index into writes_.
  };
  /// Cells of a page are as fine as its accesses have needed so far: 16 bytes down to 1.
  struct Page {
    std::uint32_t shift = 4;
    std::vector<Cell> cells;
  };

  Page& page_for(std::size_t page, std::uint32_t shift);
  void refine(Page& page, std::uint32_t shift);
  template <class Body>
  void each_cell(std::size_t at, std::size_t bytes, Body body);
  template <class Body>
  void each_read_under_way(std::size_t at, std::size_t bytes, const Accessor& by, Body body);
  std::optional<Conflict> conflict_with_write(const Cell& cell, const Accessor& by) const;
  void keep_earlier(Cell& cell, const Accessor& by, std::uint32_t time);
  std::optional<Conflict> conflict_with_reads(const Cell& cell, const Accessor& by) const;
  void record_read(Cell& cell, const Accessor& by, std::uint32_t time);
  void record_write(Cell& cell, const Accessor& by, std::uint32_t time);
  std::uint32_t new_list();

  std::size_t most_reads_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::uint32_t> used_;  ///< Pages that have cells.
  std::vector<std::vector<ReadRecord>> lists_;
  std::vector<std::uint32_t> free_lists_;
  std::vector<WriteRecord> writes_;
  std::vector<std::uint32_t> free_writes_;
};

}  // namespace evo::vgpu

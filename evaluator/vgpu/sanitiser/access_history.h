#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "evaluator/vgpu/sanitiser/vector_clock.h"

/// The accesses of a piece of memory that later ones must be ordered with. A later access X races with an earlier one O
/// if they conflict and nothing orders O before X.
///
/// Not all are kept. An access N stands for an earlier one O if whatever conflicts with O conflicts with N, too. O goes
/// in two cases: it happens before N, and N stands for it; or the two race, which is reported. So the first race of a
/// place is always found. Let X be its later access, O the earlier one, and let O have gone for N. X is not ordered
/// after N, else it were after O; and it conflicts with N. Then N is kept, or has gone for another one in the same way.
/// Who sees a strong write N is ordered after N and what N stands for. A test compares every order of accesses of three
/// threads with a list of all of them.
namespace evo::vgpu {

/// The time of an access that is still under way. No clock reaches it.
constexpr std::uint32_t kUnderWay = 0xffff'ffffu;
/// Stands in clocks for strong writes that others have seen, by number: no grid has so many blocks.
constexpr std::uint32_t kSeenWrites = 0xffff'fffeu;

/// How an access takes part in races.
struct AccessFlags {
  bool writes : 1 = false;
  bool strong : 1 = false;        ///< Atomic, volatile, relaxed or stronger: such accesses do not race with each other.
  bool block_scope : 1 = false;   ///< Strong only among the threads of a block.
  bool asynchronous : 1 = false;  ///< By the copy engine or the tensor cores.
  /// A volatile read of a value, and a strong write of one. No fence makes a hand-over of them, and
  /// the reader does not wait for the value: they race with each other like plain accesses.
  bool reads_value : 1 = false;
  bool writes_value : 1 = false;

  bool operator==(const AccessFlags&) const = default;
};

/// Accesses of one kind, by lanes of one warp at one time.
struct AccessRecord {
  std::uint32_t time = 0;  ///< 0: there is none.
  std::uint32_t block = 0;
  std::uint32_t code = 0;  ///< The instruction.
  std::uint32_t lanes = 0;
  std::uint32_t seen = 0;  ///< Number of this write among kSeenWrites; 0: nobody has seen it.
  std::uint16_t warp = 0;  ///< Of the block; behind them its mbarriers.
  AccessFlags flags;

  std::uint32_t thread(std::uint32_t lane) const { return warp * 32u + lane; }
};

/// What strong reads of a launch have seen. A strong write happens before what follows the strong read that sees it
/// (PTX ISA, "Causality Order": observation). What the writing thread did before does not: that takes a fence.
struct SeenWrites {
  std::uint32_t given = 0;           ///< Numbers.
  std::vector<std::uint32_t> fresh;  ///< Of the last access, for its thread's clock.
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
  bool collective = false;     ///< By the warp as a whole: even the thread's own accesses must be in `known`.
  SeenWrites* sees = nullptr;  ///< Not null: a strong read, or an atomic whose result is used. It sees strong writes.

  /// The lanes of a record that nothing orders before this access.
  std::uint32_t unordered(const AccessRecord& old) const;

 private:
  bool knows(const AccessRecord& old, std::uint32_t lane) const;
  /// The lanes of the own warp that had read when they met the thread's lane.
  std::uint32_t met(const AccessRecord& read) const;
};

/// What an access races with.
struct Conflict {
  bool with_write = false;
  bool under_way = false;
  bool asynchronous = false;
  bool unfenced = false;    ///< Ordered, but no fence lets the asynchronous access see the write.
  bool of_values = false;   ///< Strong accesses, but a volatile one of them reads or writes a value.
  bool same_bytes = false;  ///< The later one writes what is there.
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t code = 0;
};

class AccessHistory {
 public:
  /// `most`: how many records of one place are kept besides the latest write and read. The oldest strong one goes
  /// first.
  AccessHistory(std::size_t bytes, std::size_t most) : most_(most), pages_((bytes + kPageBytes - 1) / kPageBytes) {}

  /// Each looks at all bytes, records the access, and says what it races with.
  std::optional<Conflict> read(std::size_t at, std::size_t bytes, const Accessor& by);
  std::optional<Conflict> write(std::size_t at, std::size_t bytes, const Accessor& by);
  /// Looks without recording.
  std::optional<Conflict> check(std::size_t at, std::size_t bytes, const Accessor& by, bool writes);
  /// The instruction that wrote last to these bytes.
  std::optional<std::uint32_t> last_writer(std::size_t at, std::size_t bytes);

  /// Asynchronous accesses: under way from now on, checked like others.
  std::optional<Conflict> begin_write(std::size_t at, std::size_t bytes, const Accessor& by);
  std::optional<Conflict> begin_read(std::size_t at, std::size_t bytes, const Accessor& by);
  /// What the thread, or another one of its warp, has begun is over for all who have reached `time` of `thread`.
  void end_write(std::size_t at, std::size_t bytes, const Accessor& by, std::uint32_t block, std::uint32_t thread,
                 std::uint32_t time);
  void end_read(std::size_t at, std::size_t bytes, const Accessor& by, std::uint32_t block, std::uint32_t thread,
                std::uint32_t time);
  /// It is over for all who have reached the thread's own time.
  void end_read(std::size_t at, std::size_t bytes, const Accessor& by);

  void clear();

 private:
  static constexpr std::size_t kPageBytes = 1024;
  static constexpr std::uint32_t kNone = 0xffff'ffffu;
  struct Cell {
    AccessRecord write, read;    ///< The latest of each.
    std::uint32_t more = kNone;  ///< Others that are kept: index into lists_.
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
  /// The records of an instruction's accesses under way.
  template <class Body>
  void each_under_way(std::size_t at, std::size_t bytes, const Accessor& by, bool writes, Body body);
  std::optional<Conflict> access(std::size_t at, std::size_t bytes, const Accessor& by, bool writes,
                                 std::uint32_t time);
  std::optional<Conflict> conflict_in(const Cell& cell, const Accessor& by) const;
  void record(Cell& cell, const Accessor& by, std::uint32_t time, bool races);
  void keep(Cell& cell, const AccessRecord& record);
  std::uint32_t new_list();

  std::size_t most_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::uint32_t> used_;  ///< Pages that have cells.
  std::vector<std::vector<AccessRecord>> lists_;
  std::vector<std::uint32_t> free_lists_;
};

}  // namespace evo::vgpu

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/vgpu/machine/lanes.h"

namespace evo::vgpu {

/// The lanes of a .sync instruction, sorted by the member masks that they name: groups of one warp may execute the same
/// instruction together, each with a mask of its own (tiled_partition of cooperative groups). Lanes of one group may
/// come from different instructions of one kind: operands are therefore read and written through the group.
///
///     MemberGroups groups(warp, in, mask, members_at);
///     while (groups.next(mask)) ... the lanes of `mask` are one complete group ...
class MemberGroups {
 public:
  MemberGroups(Warp& warp, const Instruction& in, std::uint32_t mask, Place members_at)
      : warp_(warp), in_(in), members_(warp.row(members_at)), first_(mask), left_(mask) {}
  /// False when no group is left, those that miss lanes wait, or the warp has failed.
  bool next(std::uint32_t& mask);

  /// The lanes of the group by the instruction that they execute.
  std::vector<Executing> executing(std::uint32_t mask) const;

  // Operands of the group that next() has found, by their number in Instruction::op. A row of 64-bit values is two.
  template <class T = Word>
  EVO_INLINE const Slot<T>* source(std::size_t operand) {
    if (elsewhere_.empty()) return source_row<T>(warp_, in_.op[operand]);
    return reinterpret_cast<const Slot<T>*>(composed(operand, kSlotWords<T>));
  }
  EVO_INLINE std::uint32_t predicate(std::size_t operand) const {
    std::uint32_t values = get_predicate(warp_, in_.op[operand]);
    for (const Executing& other : elsewhere_)
      values = (values & ~other.lanes) | (get_predicate(warp_, other.in->op[operand]) & other.lanes);
    return values;
  }
  EVO_INLINE void put(std::size_t operand, const Word* values, std::uint32_t mask) {
    for (const Executing& other : elsewhere_) {
      blend(warp_.own(other.in->op[operand]), values, other.lanes);
      mask &= ~other.lanes;
    }
    blend(warp_.own(in_.op[operand]), values, mask);
  }
  EVO_INLINE void put_in_all(std::size_t operand, Word value, std::uint32_t mask) {
    Word values[kRowWords];
    for (Word& one : values) one = value;
    put(operand, values, mask);
  }
  EVO_INLINE void put_predicates(std::size_t operand, std::uint32_t values, std::uint32_t mask) {
    for (const Executing& other : elsewhere_) {
      put_predicate(warp_, other.in->op[operand], values, other.lanes);
      mask &= ~other.lanes;
    }
    put_predicate(warp_, in_.op[operand], values, mask);
  }

 private:
  static constexpr std::size_t kMostSources = 3;
  bool postpone_incomplete();
  /// A row with each lane's value from the operand of the instruction that it executes.
  const Word* composed(std::size_t operand, std::size_t words);

  Warp& warp_;
  const Instruction& in_;
  const Word* members_;
  std::uint32_t first_;           ///< All that execute the instruction.
  std::uint32_t left_;            ///< Of them, those not yet looked at.
  std::uint32_t incomplete_ = 0;  ///< Their group lacks lanes.
  std::span<const Executing> elsewhere_;
  std::size_t rows_composed_ = 0;
  alignas(64) std::array<std::array<Word, 2 * kRowWords>, kMostSources> rows_;
};

}  // namespace evo::vgpu

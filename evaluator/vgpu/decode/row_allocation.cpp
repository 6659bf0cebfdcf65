#include "evaluator/vgpu/decode/row_allocation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <queue>

#include "evaluator/vgpu/machine/kernel.h"
#include "evaluator/vgpu/ptx/load_error.h"

namespace evo::vgpu {
namespace {

class Bits {
 public:
  explicit Bits(std::size_t count = 0) : words_((count + 63) / 64, 0) {}
  void set(std::size_t i) { words_[i / 64] |= 1ull << (i % 64); }
  bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1u) != 0; }
  /// this |= (other & ~without); whether that changed anything.
  bool add(const Bits& other, const Bits* without) {
    bool changed = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t more = other.words_[i] & (without != nullptr ? ~without->words_[i] : ~0ull) & ~words_[i];
      changed |= more != 0;
      words_[i] |= more;
    }
    return changed;
  }

 private:
  std::vector<std::uint64_t> words_;
};

struct Range {
  std::uint32_t begin = kNowhere;
  std::uint32_t end = 0;
  void cover(std::uint32_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
};

/// Registers that are read in a block before it writes them live across blocks; all others need no data flow.
std::vector<std::uint32_t> number_crossing(const std::vector<BasicBlock>& blocks,
                                           const std::vector<std::span<const RegisterUse>>& uses, std::size_t registers,
                                           std::size_t& count) {
  std::vector<std::uint32_t> number(registers, kNowhere);
  std::vector<std::uint32_t> written_in(registers, kNowhere);
  count = 0;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].first; i <= blocks[b].last; ++i) {
      for (const RegisterUse& use : uses[i]) {
        if ((use.write && !use.partial) || written_in[use.reg] == b) continue;
        if (number[use.reg] == kNowhere) number[use.reg] = static_cast<std::uint32_t>(count++);
      }
      for (const RegisterUse& use : uses[i]) {
        if (use.write && !use.partial) written_in[use.reg] = b;
      }
    }
  }
  return number;
}

std::vector<Range> live_ranges(const std::vector<BasicBlock>& blocks,
                               const std::vector<std::span<const RegisterUse>>& uses, std::size_t registers) {
  std::size_t crossing = 0;
  const std::vector<std::uint32_t> number = number_crossing(blocks, uses, registers, crossing);
  if (crossing * blocks.size() > 8'000'000'000ull)
    throw LoadError("the kernel is too large: too many registers live across branches");
  std::vector<Bits> live_in(blocks.size(), Bits(crossing));
  std::vector<Bits> live_out(blocks.size(), Bits(crossing));
  std::vector<Bits> written(blocks.size(), Bits(crossing));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].first; i <= blocks[b].last; ++i) {
      for (const RegisterUse& use : uses[i]) {
        const std::uint32_t n = number[use.reg];
        if (n != kNowhere && (!use.write || use.partial) && !written[b].test(n)) live_in[b].set(n);
      }
      for (const RegisterUse& use : uses[i]) {
        const std::uint32_t n = number[use.reg];
        if (n != kNowhere && use.write && !use.partial) written[b].set(n);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks.size(); b-- > 0;) {
      for (const std::uint32_t successor : blocks[b].successors)
        changed |= live_out[b].add(live_in[successor], nullptr);
      changed |= live_in[b].add(live_out[b], &written[b]);
    }
  }
  std::vector<Range> ranges(registers);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].first; i <= blocks[b].last; ++i) {
      for (const RegisterUse& use : uses[i]) ranges[use.reg].cover(i);
    }
  }
  for (std::size_t r = 0; r < registers; ++r) {
    const std::uint32_t n = number[r];
    if (n == kNowhere) continue;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (live_in[b].test(n)) ranges[r].cover(blocks[b].first);
      if (live_out[b].test(n)) ranges[r].cover(blocks[b].last);
    }
  }
  return ranges;
}

}  // namespace

RowAllocation allocate_rows(const std::vector<BasicBlock>& blocks,
                            const std::vector<std::span<const RegisterUse>>& uses,
                            const std::vector<std::uint8_t>& rows_of, std::span<const std::uint32_t> pinned) {
  RowAllocation result;
  result.first_row.assign(rows_of.size(), kNowhere);
  std::vector<Range> ranges = live_ranges(blocks, uses, rows_of.size());
  for (const std::uint32_t reg : pinned) ranges[reg] = {0, kNowhere - 1};

  std::vector<std::uint32_t> by_begin;
  for (std::uint32_t r = 0; r < ranges.size(); ++r) {
    if (ranges[r].begin != kNowhere) by_begin.push_back(r);
  }
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return ranges[a].begin < ranges[b].begin; });

  std::array<std::vector<std::uint32_t>, 5> free_rows;  // By size.
  using Ending = std::pair<std::uint32_t, std::uint32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  for (const std::uint32_t reg : by_begin) {
    // A register may take the rows of one that ended strictly earlier: some instructions write before they
    // have read.
    while (!live.empty() && live.top().first < ranges[reg].begin) {
      const std::uint32_t ended = live.top().second;
      free_rows[rows_of[ended]].push_back(result.first_row[ended]);
      live.pop();
    }
    auto& rows = free_rows[rows_of[reg]];
    if (rows.empty()) {
      result.first_row[reg] = result.rows;
      result.rows += rows_of[reg];
    } else {
      result.first_row[reg] = rows.back();
      rows.pop_back();
    }
    live.emplace(ranges[reg].end, reg);
  }
  return result;
}

}  // namespace evo::vgpu

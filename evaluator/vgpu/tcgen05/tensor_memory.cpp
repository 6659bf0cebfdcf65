#include "evaluator/vgpu/tcgen05/tensor_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace evo::vgpu {
namespace {

/// What fresh columns hold, as other fresh memory does.
constexpr std::uint32_t kFreshTensorWord = 0xcbcbcbcb;
/// Columns are allocated in such units.
constexpr std::uint32_t kTensorUnitColumns = 32;

/// Products of one shape with the same accumulator end in the order of their issue (PTX ISA 9.0, 9.7.16.6.2).
bool follow_each_other(const TensorOperation& first, const TensorOperation& second) {
  return first.shape == second.shape && first.writes.column == second.writes.column;
}

bool reads_from(const TensorOperation& operation, const TensorRegion& region) {
  return std::ranges::any_of(operation.reads, [&](const TensorRegion& read) { return read.meets(region); });
}

bool must_wait(const TensorOperation& first, const TensorOperation& second) {
  const bool dependent =
      std::ranges::any_of(second.reads, [&](const TensorRegion& r) { return r.meets(first.writes); });
  const bool overwrites = reads_from(first, second.writes);
  if (first.is_tracked() && second.is_tracked()) {
    // Copies and shifts are in order with products, and with each other.
    if (first.kind != TensorOperation::Kind::product || second.kind != TensorOperation::Kind::product) return false;
    return dependent || overwrites || (first.writes.meets(second.writes) && !follow_each_other(first, second));
  }
  return dependent || overwrites || first.writes.meets(second.writes);
}

}  // namespace

void TensorRegion::add_lanes(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t lane = first; lane < first + count; ++lane)
    lanes[lane / kQuarterLanes] |= 1u << lane % kQuarterLanes;
}

bool TensorRegion::meets(const TensorRegion& other) const {
  if (column >= other.column + other.columns || other.column >= column + columns) return false;
  for (std::size_t quarter = 0; quarter < lanes.size(); ++quarter)
    if ((lanes[quarter] & other.lanes[quarter]) != 0) return true;
  return false;
}

std::string TensorRegion::described() const {
  std::uint32_t first = kTensorLanes, last = 0;
  for (std::uint32_t quarter = 0; quarter < lanes.size(); ++quarter) {
    if (lanes[quarter] == 0) continue;
    first = std::min(first, quarter * kQuarterLanes + static_cast<std::uint32_t>(std::countr_zero(lanes[quarter])));
    last = quarter * kQuarterLanes + static_cast<std::uint32_t>(std::bit_width(lanes[quarter])) - 1;
  }
  return fmt::format("lanes {} to {}, columns {} to {}", first, last, column, column + columns - 1);
}

void TensorMemory::start() {
  allocations_.clear();
  under_way_.clear();
  may_allocate = true;
}

std::optional<std::uint32_t> TensorMemory::allocate(std::uint32_t columns, std::uint32_t warp, const Instruction& in) {
  std::uint32_t from = 0;
  auto behind = allocations_.begin();
  for (; behind != allocations_.end() && behind->column - from < columns; ++behind)
    from = (behind->column + behind->columns + kTensorUnitColumns - 1) / kTensorUnitColumns * kTensorUnitColumns;
  if (from + columns > kTensorColumns) return std::nullopt;
  allocations_.insert(behind, {from, columns, warp, &in});
  words_.resize(std::size_t{kTensorLanes} * kTensorColumns);
  written_.resize(words_.size());
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(at(0, from)),
            words_.begin() + static_cast<std::ptrdiff_t>(at(0, from + columns)), kFreshTensorWord);
  std::fill(written_.begin() + static_cast<std::ptrdiff_t>(at(0, from)),
            written_.begin() + static_cast<std::ptrdiff_t>(at(0, from + columns)), std::uint8_t{0});
  return from;
}

bool TensorMemory::release(std::uint32_t column, std::uint32_t columns) {
  return std::erase_if(allocations_,
                       [&](const Allocation& one) { return one.column == column && one.columns == columns; }) != 0;
}

std::uint32_t TensorMemory::free_columns() const {
  std::uint32_t columns = kTensorColumns;
  for (const Allocation& allocation : allocations_) columns -= allocation.columns;
  return columns;
}

std::optional<std::uint32_t> TensorMemory::outside(const TensorRegion& region) const {
  std::uint32_t column = region.column;
  for (const Allocation& one : allocations_)
    if (column >= one.column && column < one.column + one.columns) column = one.column + one.columns;
  return column < region.column + region.columns ? std::optional(column) : std::nullopt;
}

std::optional<std::uint32_t> TensorMemory::unwritten(const TensorRegion& region) const {
  for (std::uint32_t column = region.column; column < region.column + region.columns; ++column)
    for (std::uint32_t lane = 0; lane < kTensorLanes; ++lane)
      if ((region.lanes[lane / kQuarterLanes] >> lane % kQuarterLanes & 1u) != 0 && !written(lane, column))
        return column;
  return std::nullopt;
}

const TensorOperation* TensorMemory::in_the_way_of(const TensorOperation& operation) const {
  for (auto latest = under_way_.rbegin(); latest != under_way_.rend(); ++latest)
    if (must_wait(*latest, operation)) return &*latest;
  return nullptr;
}

}  // namespace evo::vgpu

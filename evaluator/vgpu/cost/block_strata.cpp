#include "evaluator/vgpu/cost/block_strata.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "evaluator/base/random.h"

namespace evo::vgpu {
namespace {

/// Clocks between two instructions of a warp, in issue slots of its SM: four clocks of four schedulers.
constexpr double kSlotsOfOneWarp = 16;
/// Blocks of a stratum differ by no more than the first of these factors that leaves few enough strata.
constexpr std::array<double, 8> kFactors = {1.05, 1.1, 1.2, 1.5, 2, 4, 16, 1e18};
constexpr std::size_t kMostStrata = 12;
/// The shortest blocks are one stratum if they take no more of the work together.
constexpr double kNegligible = 0.01;
/// Traces of a stratum that is all of the work.
constexpr double kTraces = 3;

/// What a block asks of the SM, in issue slots: its instructions; its passes through shared memory beyond those that
/// its bytes need, one a clock; its sectors, two a clock.
double demand(const RecordedBlock& block) {
  return static_cast<double>(block.issued + 4 * block.conflicts + 2 * block.global_sectors);
}

/// Of Student's distribution, 97.5 %.
double quantile(std::size_t degrees_of_freedom) {
  constexpr std::array<double, 10> kQuantiles = {12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  return degrees_of_freedom <= kQuantiles.size() ? kQuantiles[degrees_of_freedom - 1] : 2.2;
}

}  // namespace

double issue_slots(const BlockWork& work) {
  return 1 + static_cast<double>(work.instructions) + kSlotsOfOneWarp * static_cast<double>(work.longest_warp);
}

BlockStrata::BlockStrata(std::span<const BlockWork> work) {
  if (work.empty()) return;
  std::vector<double> slots(work.size());
  std::ranges::transform(work, slots.begin(), issue_slots);
  std::vector<std::uint32_t> order(work.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto [least, most] = std::ranges::minmax_element(slots);
  const bool alike = *most <= kFactors[0] * *least;
  if (!alike) std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t block) { return slots[block]; });
  for (const double factor : kFactors) {
    divide(order, slots, alike ? kFactors.back() : factor);
    if (strata_.size() <= kMostStrata) return;
  }
}

/// `order`: the blocks, the longest first.
void BlockStrata::divide(std::span<const std::uint32_t> order, std::span<const double> slots, double factor) {
  const double all = std::accumulate(slots.begin(), slots.end(), 0.0);
  strata_.clear();
  shares_.clear();
  stratum_of_.assign(order.size(), 0);
  double longest = 0, before = 0;
  bool last = false;
  for (const std::uint32_t block : order) {
    if (strata_.empty() || (!last && longest > factor * slots[block])) {
      last = before >= (1 - kNegligible) * all;
      longest = slots[block];
      strata_.emplace_back();
      shares_.push_back(0);
    }
    stratum_of_[block] = static_cast<std::uint8_t>(std::min<std::size_t>(strata_.size() - 1, 255));
    strata_.back().push_back(block);
    shares_.back() += slots[block] / all;
    before += slots[block];
  }
}

std::vector<std::vector<const RecordedBlock*>> BlockStrata::traces(const RecordedTrace& trace) const {
  std::vector<std::vector<const RecordedBlock*>> of(count());
  for (const RecordedBlock& block : trace.blocks) of[stratum_of(block.number)].push_back(&block);
  return of;
}

std::vector<std::uint64_t> BlockStrata::missing(const RecordedTrace& trace, std::uint64_t salt,
                                                std::uint64_t round) const {
  const auto traced = traces(trace);
  std::vector<std::uint64_t> drawn;
  for (std::size_t s = 0; s < strata_.size(); ++s) {
    const std::vector<std::uint32_t>& blocks = strata_[s];
    const auto is_long = [](const RecordedBlock* block) { return block->issued >= RecordedTrace::kLong; };
    const double wanted =
        std::ranges::any_of(traced[s], is_long) ? 1 : std::ceil(kTraces * shares_[s]) * static_cast<double>(round);
    const auto most = std::min(blocks.size(), static_cast<std::size_t>(wanted));
    std::size_t count = traced[s].size();
    // Few blocks are soon drawn twice.
    for (std::uint64_t i = 0; count < most && i < 8 * blocks.size() + 64; ++i) {
      const std::uint64_t number = blocks[mix(mix(salt, s), i) % blocks.size()];
      if (trace.find(number) != nullptr || std::ranges::find(drawn, number) != drawn.end()) continue;
      drawn.push_back(number);
      ++count;
    }
  }
  std::ranges::sort(drawn);
  return drawn;
}

double BlockStrata::interval(const RecordedTrace& trace, std::span<const BlockWork> work) const {
  const auto traced = traces(trace);
  double squares = 0;
  for (std::size_t s = 0; s < strata_.size(); ++s) {
    const std::size_t count = traced[s].size();
    if (count < 2 || count == strata_[s].size()) continue;
    double sum = 0, sum_of_squares = 0;
    for (const RecordedBlock* block : traced[s]) {
      const double each = demand(*block) / issue_slots(work[block->number]);
      sum += each;
      sum_of_squares += each * each;
    }
    const auto n = static_cast<double>(count);
    const double mean = sum / n, variance = std::max(0.0, sum_of_squares - sum * mean) / (n - 1);
    if (mean <= 0) continue;
    const double half = quantile(count - 1) * std::sqrt(variance / n) / mean;
    squares += std::pow(shares_[s] * half, 2);
  }
  return std::sqrt(squares);
}

}  // namespace evo::vgpu

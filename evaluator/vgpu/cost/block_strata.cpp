#include "evaluator/vgpu/cost/block_strata.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "evaluator/base/random.h"

namespace evo::vgpu {
namespace {

// In issue slots of an SM, four a clock: an instruction of a warp and its latency, a pass through shared memory, a
// sector between SM and L2.
constexpr double kSlotsOfLatency = 16;
constexpr double kSlotsOfPass = 4;
constexpr double kSlotsOfSector = 2;
/// Blocks of a stratum differ from its first one by less than the first of these factors that leaves few enough strata.
constexpr std::array<double, 8> kFactors = {1.05, 1.1, 1.2, 1.5, 2, 4, 16, 1e18};
constexpr std::size_t kMostStrata = 16;
/// The shortest blocks are one stratum if they take no more of the work together.
constexpr double kNegligible = 0.01;
/// Traces of a stratum that is all of the work.
constexpr double kTraces = 3;

/// What a block asks of the SM's pipes, and how long its longest path is.
double throughput(const BlockWork& work) {
  return 1 + static_cast<double>(work.instructions) + kSlotsOfPass * static_cast<double>(work.shared_passes) +
         kSlotsOfSector * static_cast<double>(work.sectors);
}
double latency(const BlockWork& work) {
  return kSlotsOfLatency * static_cast<double>(work.longest_path);
}

double throughput_apart(const BlockWork& a, const BlockWork& b, double times) {
  const auto apart = [&](std::uint64_t of_a, std::uint64_t of_b) {
    return std::abs(static_cast<double>(of_a) - times * static_cast<double>(of_b));
  };
  double all = kSlotsOfPass * apart(a.shared_passes, b.shared_passes) + kSlotsOfSector * apart(a.sectors, b.sectors);
  for (std::size_t part = 0; part < kCodeParts; ++part) all += apart(a.code[part], b.code[part]);
  return all;
}
double latency_apart(const BlockWork& a, const BlockWork& b, double times) {
  return std::abs(latency(a) - times * latency(b));
}

/// Whether they execute the same code about as often, and ask about as much of memory.
bool alike(const BlockWork& a, const BlockWork& b, double factor) {
  return throughput_apart(a, b, 1) <= (factor - 1) * throughput(a) &&
         latency_apart(a, b, 1) <= (factor - 1) * latency(a);
}

/// Of Student's distribution, 97.5 %.
double quantile(std::size_t degrees_of_freedom) {
  constexpr std::array<double, 10> kQuantiles = {12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  return degrees_of_freedom <= kQuantiles.size() ? kQuantiles[degrees_of_freedom - 1] : 2.2;
}

}  // namespace

double issue_slots(const BlockWork& work) {
  return throughput(work) + latency(work);
}

double slots_apart(const BlockWork& a, const BlockWork& b, double times) {
  return throughput_apart(a, b, times) + latency_apart(a, b, times);
}

BlockStrata::BlockStrata(std::span<const BlockWork> work) : work_(work) {
  if (work.empty()) return;
  std::vector<double> slots(work.size());
  std::ranges::transform(work, slots.begin(), issue_slots);
  std::vector<std::uint32_t> order(work.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t block) { return slots[block]; });
  for (const double factor : kFactors) {
    divide(order, factor);
    if (strata_.size() <= kMostStrata) return;
  }
}

/// The stratum that the block belongs to; the number of strata if there is none.
std::size_t BlockStrata::choose(const BlockWork& block, double factor) const {
  for (std::size_t s = 0; s < strata_.size(); ++s)
    if (alike(work_[strata_[s].blocks.front()], block, factor)) return s;
  return strata_.size();
}

/// `order`: the blocks, the longest first.
void BlockStrata::divide(std::span<const std::uint32_t> order, double factor) {
  double all = 0, before = 0;
  for (const BlockWork& one : work_) all += issue_slots(one);
  strata_.clear();
  stratum_of_.assign(order.size(), 0);
  bool last = false;
  std::size_t latest = 0;
  for (const std::uint32_t block : order) {
    if (strata_.empty() || (!last && work_[block] != work_[strata_[latest].blocks.front()]))
      latest = choose(work_[block], factor);
    if (latest == strata_.size()) {
      if (latest > kMostStrata) return;
      last = before >= (1 - kNegligible) * all;
      strata_.emplace_back();
    }
    Stratum& stratum = strata_[latest];
    stratum.blocks.push_back(block);
    stratum.alike = stratum.alike && work_[block] == work_[stratum.blocks.front()];
    const double slots = issue_slots(work_[block]);
    stratum.share += slots / all;
    before += slots;
    stratum_of_[block] = static_cast<std::uint8_t>(latest);
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
    const std::vector<std::uint32_t>& blocks = strata_[s].blocks;
    const auto is_long = [](const RecordedBlock* block) { return block->issued >= RecordedTrace::kLong; };
    const double least = strata_[s].alike ? 1 : 2;
    const double wanted = std::ranges::any_of(traced[s], is_long)
                              ? 1
                              : std::max(least, std::ceil(kTraces * strata_[s].share)) * static_cast<double>(round);
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

double BlockStrata::interval(const RecordedTrace& trace, std::span<const double> clocks) const {
  const auto traced = traces(trace);
  double squares = 0;
  for (std::size_t s = 0; s < strata_.size(); ++s) {
    const std::size_t count = traced[s].size();
    if (strata_[s].alike || count < 2 || count == strata_[s].blocks.size()) continue;
    double sum = 0, sum_of_squares = 0;
    for (const RecordedBlock* block : traced[s]) {
      const double each =
          clocks[static_cast<std::size_t>(block - trace.blocks.data())] / issue_slots(work_[block->number]);
      sum += each;
      sum_of_squares += each * each;
    }
    const auto n = static_cast<double>(count);
    const double mean = sum / n, variance = std::max(0.0, sum_of_squares - sum * mean) / (n - 1);
    if (mean <= 0) continue;
    const double half = quantile(count - 1) * std::sqrt(variance / n) / mean;
    squares += std::pow(strata_[s].share * half, 2);
  }
  return std::sqrt(squares);
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/traced_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <ranges>

#include "evaluator/base/random.h"
#include "evaluator/vgpu/cost/block_strata.h"
#include "evaluator/vgpu/cost/sm_share.h"
#include "evaluator/vgpu/cost/sm_simulation.h"
#include "evaluator/vgpu/cost/trace_recorder.h"
#include "evaluator/vgpu/machine/block_scheduler.h"

namespace evo::vgpu {
namespace {

constexpr std::uint64_t kFirst = 3;
constexpr std::uint64_t kMostRounds = 4;
// Blocks that are traced as well where few run: at most so many, while all together take no more than a part of what
// the first ones took, in instructions; more where blocks are seen to differ.
constexpr std::uint64_t kMostDrawn = 256;
constexpr double kLittle = 50'000;
constexpr double kPart = 0.08;
constexpr double kPartOfUneven = 1;

std::uint64_t blocks_of(const Launch& launch) {
  return std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

/// One block of each third.
std::vector<std::uint64_t> first_blocks(std::uint64_t blocks, std::uint64_t salt) {
  std::vector<std::uint64_t> drawn;
  const std::uint64_t parts = std::min(blocks, kFirst);
  for (std::uint64_t i = 0; i < parts; ++i) {
    const std::uint64_t begin = blocks * i / parts, end = blocks * (i + 1) / parts;
    drawn.push_back(begin + mix(salt, i) % (end - begin));
  }
  return drawn;
}

/// The content of some memory.
class MemoryImage {
 public:
  MemoryImage(const GlobalMemory& memory, std::span<const DeviceRange> ranges) {
    for (const DeviceRange& range : ranges) {
      if (range.bytes == 0) continue;
      const std::byte* from = memory.at(range.from, range.bytes);
      parts_.push_back({range, {from, from + range.bytes}});
    }
  }
  void restore(const GlobalMemory& memory) const {
    for (const auto& [range, bytes] : parts_)
      std::memcpy(memory.at(range.from, range.bytes), bytes.data(), bytes.size());
  }

 private:
  struct Part {
    DeviceRange range;
    std::vector<std::byte> bytes;
  };
  std::vector<Part> parts_;
};

std::string described(const BlockWork& work) {
  return fmt::format("executed {} instructions with {} passes through shared memory and {} sectors from L2",
                     work.instructions, work.shared_passes, work.sectors);
}

/// Runs blocks of a launch again, from the memory that it began with.
class Repetition {
 public:
  Repetition(const Launch& launch, const MemoryImage& before, std::span<const BlockWork> work, TraceRecorder& recorder)
      : launch_(launch), before_(before), work_(work), recorder_(recorder) {}

  /// Traces `blocks`. Those that depend on others run with all others.
  std::optional<Failure> trace(std::span<const std::uint64_t> blocks) {
    if (launch_.kernel->independent_blocks && !differs_when_run(blocks, true)) return std::nullopt;
    const auto differing = differs_when_run(blocks, false);
    if (!differing) return std::nullopt;
    return failure_of(
        Verdict::unrepeatable,
        fmt::format("kernel {}: block {} has {}, and {} when it ran again from the same memory", launch_.kernel->name,
                    *differing, described(work_[*differing]), described(again_[*differing])));
  }

 private:
  /// The first of them that executes something else than before.
  std::optional<std::uint64_t> differs_when_run(std::span<const std::uint64_t> blocks, bool alone) {
    before_.restore(*launch_.memory);
    again_.assign(work_.size(), {});
    Launch launch = launch_;
    launch.work = again_.data();
    run_blocks(launch, {&recorder_, blocks, alone});
    const auto found = std::ranges::find_if(blocks, [&](std::uint64_t b) { return again_[b] != work_[b]; });
    return found == blocks.end() ? std::nullopt : std::optional(*found);
  }

  const Launch& launch_;
  const MemoryImage& before_;
  std::span<const BlockWork> work_;
  TraceRecorder& recorder_;
  std::vector<BlockWork> again_;
};

/// What each traced block takes on an SM that runs nothing else. Remembers blocks.
class ClocksAlone {
 public:
  explicit ClocksAlone(const DeviceModel& model) : model_(model) {}
  std::vector<double> of(const RecordedTrace& trace) {
    std::vector<double> clocks;
    for (const RecordedBlock& block : trace.blocks) {
      const auto [known, added] = known_.try_emplace(block.number);
      if (added) known->second = simulate_sm(model_, trace, {1, 1, false, {&block}}).clocks;
      clocks.push_back(known->second);
    }
    return clocks;
  }

 private:
  const DeviceModel& model_;
  std::map<std::uint64_t, double> known_;
};

/// Traces what is missing for the whole to be known. `uncertainty` gets how well it is.
std::optional<Failure> complete(const Launch& launch, const DeviceModel& model, const MemoryImage& before,
                                std::span<const DeviceRange> written, std::span<const BlockWork> work,
                                TraceRecorder& recorder, double& uncertainty) {
  const BlockStrata strata(work);
  ClocksAlone clocks(model);
  std::optional<MemoryImage> after;
  std::optional<Failure> failure;
  for (std::uint64_t round = 1; round <= kMostRounds && !failure; round *= 2) {
    const std::vector<std::uint64_t> missing = strata.missing(recorder.trace(), launch.salt, round);
    if (!missing.empty()) {
      if (!after) after.emplace(*launch.memory, written);
      failure = Repetition(launch, before, work, recorder).trace(missing);
    }
    if (failure) break;
    const RecordedTrace& trace = recorder.trace();
    if (strata.uneven()) uncertainty = std::max(strata.interval(trace, clocks.of(trace)), untold(trace, work, strata));
    if (uncertainty <= kWantedUncertainty) break;
  }
  if (after) after->restore(*launch.memory);
  return failure;
}

/// Runs and traces some blocks of a launch and no others.
class FewBlocks {
 public:
  explicit FewBlocks(Launch& launch) : launch_(launch), salt_(launch.salt), work_(blocks_of(launch)) {}

  TracedLaunch run() {
    std::vector<std::uint64_t> blocks = first_blocks(work_.size(), salt_);
    const auto middle = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2);
    std::rotate(blocks.begin(), middle, middle + 1);
    for (const std::uint64_t block : blocks)
      if (!launch_.failure && !recorder_.trace().middle_is_long()) run(block);
    // As long as the next one is likely to take only a part of what those have taken together, or little.
    const double first = static_cast<double>(launch_.executed);
    std::uint64_t ran = count();
    for (std::uint64_t i = 0; ran < std::min<std::uint64_t>(work_.size(), kMostDrawn) && !launch_.failure; ++i) {
      const double most = first + std::max(kLittle, (are_alike() ? kPart : kPartOfUneven) * first);
      const auto executed = static_cast<double>(launch_.executed);
      if (i == 8 * kMostDrawn || executed + executed / static_cast<double>(ran) > most) break;
      const std::uint64_t block = mix(mix(salt_, "more"), i) % work_.size();
      if (has_run(work_[block])) continue;
      run(block);
      ran = count();
    }
    return {recorder_.trace(), work(), nullptr, uncertainty()};
  }

 private:
  static bool has_run(const BlockWork& work) { return work.instructions > 0; }
  std::uint64_t count() const { return static_cast<std::uint64_t>(std::ranges::count_if(work_, has_run)); }
  std::vector<BlockWork> of_those_that_ran() const {
    std::vector<BlockWork> all;
    std::ranges::copy_if(work_, std::back_inserter(all), has_run);
    return all;
  }
  bool are_alike() const { return BlockStrata(of_those_that_ran()).count() <= 1; }

  void run(std::uint64_t block) {
    launch_.work = work_.data();
    run_blocks(launch_, {&recorder_, {&block, 1}, true});
    launch_.work = nullptr;
    // The next one finds counters as this one did.
    for (const CounterBefore& counter : launch_.counters | std::views::reverse)
      std::memcpy(counter.at, &counter.value, counter.bytes);
    launch_.counters.clear();
  }

  /// Half of the 95 % interval of the work of all blocks as those tell it that have run, relative to it.
  double uncertainty() const {
    const std::vector<BlockWork> ran = of_those_that_ran();
    const auto n = static_cast<double>(ran.size()), all = static_cast<double>(work_.size());
    if (ran.size() < 2) return 0;
    double sum = 0, squares = 0;
    for (const BlockWork& one : ran) {
      sum += issue_slots(one);
      squares += issue_slots(one) * issue_slots(one);
    }
    const double variance = std::max(0.0, squares - sum * sum / n) / (n - 1);
    return 2 * std::sqrt(variance * n * (1 - n / all)) / sum;
  }

  /// Of all blocks: one that has not run counts as the one before it that has.
  std::vector<BlockWork> work() const {
    std::vector<BlockWork> all = work_;
    const auto first = std::ranges::find_if(all, has_run);
    BlockWork latest = first == all.end() ? BlockWork() : *first;
    for (BlockWork& one : all) one = latest = has_run(one) ? one : latest;
    return all;
  }

  Launch& launch_;
  std::uint64_t salt_ = 0;
  std::vector<BlockWork> work_;  ///< Of those that have run.
  TraceRecorder recorder_;
};

}  // namespace

TracedLaunch run_and_trace(Launch& launch, const DeviceModel& model, std::span<const DeviceRange> written,
                           std::uint64_t salt) {
  launch.salt = salt;
  const std::uint64_t blocks = blocks_of(launch);
  const std::vector<std::uint64_t> first = first_blocks(blocks, salt);
  const bool all = first.size() == blocks || launch.observer != nullptr;
  const Launch as_planned = launch;
  const MemoryImage before(*launch.memory, all ? std::span<const DeviceRange>() : written);
  TracedLaunch traced;
  traced.work.resize(blocks);
  launch.work = traced.work.data();
  if (launch.kernel->awaits_blocks) traced.waits = std::make_unique<WaitLog>(launch);
  launch.waits = traced.waits.get();
  TraceRecorder recorder;
  run_blocks(launch, {&recorder, first});
  launch.work = nullptr;
  launch.waits = nullptr;
  if (!launch.failure && !all)
    launch.failure = complete(as_planned, model, before, written, traced.work, recorder, traced.uncertainty);
  traced.trace = recorder.trace();
  return traced;
}

TracedLaunch trace_few(Launch& launch, const DeviceModel& model, std::span<const DeviceRange> written,
                       std::uint64_t salt) {
  if (launch.kernel->awaits_blocks) return run_and_trace(launch, model, written, salt);
  launch.salt = salt;
  if (!launch.kernel->shares_counters) return FewBlocks(launch).run();
  const Launch as_planned = launch;
  const MemoryImage before(*launch.memory, written);
  const auto& cluster = launch.cluster;
  launch.stands_for =
      static_cast<std::uint32_t>(blocks_of(launch) / (std::uint64_t{cluster[0]} * cluster[1] * cluster[2]));
  TracedLaunch few = FewBlocks(launch).run();
  if (!launch.failure) return few;
  // A place that a counter has given may not be there, as blocks add unlike numbers.
  before.restore(*launch.memory);
  launch = as_planned;
  return run_and_trace(launch, model, written, salt);
}

}  // namespace evo::vgpu

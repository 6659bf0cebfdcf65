#include "evaluator/vgpu/traced_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "evaluator/base/random.h"
#include "evaluator/vgpu/cost/block_strata.h"
#include "evaluator/vgpu/cost/trace_recorder.h"
#include "evaluator/vgpu/machine/block_scheduler.h"

namespace evo::vgpu {
namespace {

constexpr double kInterval = 0.05;
constexpr std::uint64_t kFirst = 3;
constexpr std::uint64_t kMostRounds = 4;

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
        fmt::format("kernel {}: block {} has executed {} instructions, and {} when it ran again from the "
                    "same memory",
                    launch_.kernel->name, *differing, work_[*differing].instructions, again_[*differing].instructions));
  }

 private:
  /// The first of them that executes something else than before.
  std::optional<std::uint64_t> differs_when_run(std::span<const std::uint64_t> blocks, bool alone) {
    before_.restore(*launch_.memory);
    again_.assign(work_.size(), {});
    Launch launch = launch_;
    launch.work = again_.data();
    run_blocks(launch, {&recorder_, blocks, alone, true});
    const auto found = std::ranges::find_if(blocks, [&](std::uint64_t b) { return again_[b] != work_[b]; });
    return found == blocks.end() ? std::nullopt : std::optional(*found);
  }

  const Launch& launch_;
  const MemoryImage& before_;
  std::span<const BlockWork> work_;
  TraceRecorder& recorder_;
  std::vector<BlockWork> again_;
};

/// Traces what is missing for the whole to be known.
std::optional<Failure> complete(const Launch& launch, const MemoryImage& before, std::span<const DeviceRange> written,
                                std::span<const BlockWork> work, std::uint64_t salt, TraceRecorder& recorder) {
  const BlockStrata strata(work);
  std::optional<MemoryImage> after;
  std::optional<Failure> failure;
  for (std::uint64_t round = 1; round <= kMostRounds && !failure; round *= 2) {
    const std::vector<std::uint64_t> missing = strata.missing(recorder.trace(), salt, round);
    if (!missing.empty()) {
      if (!after) after.emplace(*launch.memory, written);
      failure = Repetition(launch, before, work, recorder).trace(missing);
    }
    if (strata.interval(recorder.trace(), work) <= kInterval) break;
  }
  if (after) after->restore(*launch.memory);
  return failure;
}

}  // namespace

TracedLaunch run_and_trace(Launch& launch, std::span<const DeviceRange> written, std::uint64_t salt) {
  const std::uint64_t blocks = blocks_of(launch);
  const std::vector<std::uint64_t> first = first_blocks(blocks, salt);
  const bool all = first.size() == blocks || launch.observer != nullptr;
  const Launch as_planned = launch;
  const MemoryImage before(*launch.memory, all ? std::span<const DeviceRange>() : written);
  TracedLaunch traced;
  traced.work.resize(blocks);
  launch.work = traced.work.data();
  TraceRecorder recorder;
  run_blocks(launch, {&recorder, first});
  launch.work = nullptr;
  if (!launch.failure && !all) launch.failure = complete(as_planned, before, written, traced.work, salt, recorder);
  traced.trace = recorder.trace();
  return traced;
}

TracedLaunch trace_alone(Launch& launch) {
  TraceRecorder recorder;
  run_blocks(launch, {&recorder, blocks_to_trace(blocks_of(launch)), true});
  return {recorder.trace(), {}};
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "evaluator/vgpu/cluster.h"
#include "evaluator/vgpu/sanitiser.h"

namespace evo::vgpu {
namespace {

std::uint64_t linear_index(const Launch& launch, const std::array<std::uint32_t, 3>& index) {
  return (std::uint64_t{index[2]} * launch.grid[1] + index[1]) * launch.grid[0] + index[0];
}

// A size and the barrier's word (cooperative_groups/details/driver_abi.h), with room.
constexpr std::size_t kGridWorkspaceBytes = 64;

/// A launch's constant rows, where vector loads want them, and the barrier of a cooperative one.
class Prepared {
 public:
  explicit Prepared(Launch& launch) : launch_(launch) {
    const auto& constants = launch.kernel->constants;
    launch.constants = constants_.resize(constants.size());
    if (!constants.empty())
      std::memcpy(launch.constants, constants.data(), constants.size() * sizeof(std::uint32_t));
    launch.caches.assign(launch.kernel->caches, nullptr);
    if (!launch.kernel->cooperative) return;
    launch.grid_workspace = launch.memory->allocate(kGridWorkspaceBytes, "grid barrier");
    std::memset(launch.memory->at(launch.grid_workspace, kGridWorkspaceBytes), 0, kGridWorkspaceBytes);
  }
  ~Prepared() {
    launch_.constants = nullptr;
    if (!launch_.kernel->cooperative) return;
    if (launch_.sanitiser != nullptr) launch_.sanitiser->freed(launch_.grid_workspace);
    launch_.memory->free(launch_.grid_workspace);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  Launch& launch_;
  AlignedWords constants_;
};

bool over_budget(Launch& launch) {
  if (launch.executed <= launch.budget.launch_instructions) return false;
  launch.failure =
      failure_of(Verdict::timed_out, fmt::format("kernel {} has not ended after {} warp instructions",
                                                 launch.kernel->name, launch.executed));
  return true;
}

}  // namespace

Failure failure_of(Verdict verdict, std::string reason) {
  Failure failure;
  failure.verdict = verdict;
  failure.reason = std::move(reason);
  return failure;
}

namespace {

/// Begins to trace the first of a cluster's blocks that is wanted, unless another is being traced.
Block* begin_trace(Cluster& cluster, std::uint64_t first, const Sampling& sampling) {
  for (const auto& block : cluster.blocks) {
    const std::uint64_t linear = cluster.blocks.size() == 1 ? first : linear_index(*cluster.launch, block->index);
    if (std::find(sampling.blocks.begin(), sampling.blocks.end(), linear) == sampling.blocks.end()) continue;
    TracedBlock traced;
    std::copy(block->index.begin(), block->index.end(), traced.index);
    traced.warps = static_cast<std::uint32_t>(block->warps.size());
    traced.registers = cluster.launch->kernel->trace.register_count;
    sampling.tracer->begin_block(traced);
    block->tracer = sampling.tracer;
    return block.get();
  }
  return nullptr;
}

/// The number of the cluster, x first, that a block is in.
std::uint64_t cluster_number(const Launch& launch, std::uint64_t block) {
  const std::uint64_t x = block % launch.grid[0], y = block / launch.grid[0] % launch.grid[1],
                      z = block / launch.grid[0] / launch.grid[1];
  const std::uint64_t columns = launch.grid[0] / launch.cluster[0], rows = launch.grid[1] / launch.cluster[1];
  return (z / launch.cluster[2] * rows + y / launch.cluster[1]) * columns + x / launch.cluster[0];
}

/// Clusters, mostly of one block, run one after another. One that takes long may spin on another's work: then
/// others start beside it, as many as a real device would hold.
class Scheduler {
 public:
  Scheduler(Launch& launch, const Sampling& sampling) : launch_(launch), sampling_(sampling) {
    const auto& size = launch.cluster;
    blocks_of_each_ = std::uint64_t{size[0]} * size[1] * size[2];
    count_ = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] / blocks_of_each_;
    resident_ = std::max<std::uint64_t>(launch.resident_blocks / blocks_of_each_, 1);
    if (!sampling.alone) return;
    for (const std::uint64_t block : sampling.blocks) chosen_.push_back(cluster_number(launch, block));
    std::sort(chosen_.begin(), chosen_.end());
    chosen_.erase(std::unique(chosen_.begin(), chosen_.end()), chosen_.end());
    count_ = chosen_.size();
  }

  void run() {
    while (next_ < count_ || !suspended_.empty()) {
      std::unique_ptr<Cluster> cluster = choose();
      const Cluster::State state = cluster->run();
      if (state == Cluster::State::failed || over_budget(launch_)) return;
      if (state == Cluster::State::finished) {
        end_trace(*cluster);
        idle_.push_back(std::move(cluster));
        continue;
      }
      if (state == Cluster::State::suspended) stalled_ = 0;
      if (state == Cluster::State::stalled && nobody_helps()) return cluster->deadlock();
      suspended_.push_back(std::move(cluster));
    }
  }

 private:
  std::unique_ptr<Cluster> choose() {
    if (next_ == count_ || suspended_.size() >= resident_) {
      std::unique_ptr<Cluster> longest = std::move(suspended_.front());
      suspended_.erase(suspended_.begin());
      return longest;
    }
    if (idle_.empty()) idle_.push_back(std::make_unique<Cluster>(launch_));
    std::unique_ptr<Cluster> fresh = std::move(idle_.back());
    idle_.pop_back();
    const std::uint64_t number = sampling_.alone ? chosen_[next_] : next_;
    fresh->start(number);
    if (sampling_.tracer != nullptr && traced_ == nullptr) traced_ = begin_trace(*fresh, number, sampling_);
    ++next_;
    return fresh;
  }

  void end_trace(Cluster& cluster) {
    for (const auto& block : cluster.blocks) {
      if (block.get() != traced_) continue;
      block->tracer = nullptr;
      sampling_.tracer->end_block();
      traced_ = nullptr;
    }
  }

  /// Whether all that could run have stalled, one after the other.
  bool nobody_helps() {
    if (launch_.progress != progress_) stalled_ = 0;
    progress_ = launch_.progress;
    const bool full = next_ == count_ || suspended_.size() + 1 >= resident_;
    return full && ++stalled_ > 2 * suspended_.size();
  }

  Launch& launch_;
  const Sampling& sampling_;
  std::uint64_t blocks_of_each_ = 1;
  std::uint64_t count_ = 0;             ///< Clusters to run.
  std::vector<std::uint64_t> chosen_;   ///< Their numbers, where not all are to run.
  std::uint64_t resident_ = 1;
  std::uint64_t next_ = 0;
  std::uint64_t progress_ = 0;
  std::uint64_t stalled_ = 0;
  const Block* traced_ = nullptr;
  std::vector<std::unique_ptr<Cluster>> idle_;
  std::vector<std::unique_ptr<Cluster>> suspended_;
};

}  // namespace

void run_blocks(Launch& launch, const Sampling& sampling) {
  const Prepared prepared(launch);
  Scheduler(launch, sampling).run();
}

}  // namespace evo::vgpu

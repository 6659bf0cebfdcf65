#include "evaluator/vgpu/machine/block_scheduler.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "evaluator/base/random.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/machine/wait_log.h"

namespace evo::vgpu {
namespace {

/// Whether all blocks are under way together.
bool all_resident(const Launch& launch) {
  return std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] <= launch.resident_blocks;
}

/// A launch's constant rows, where vector loads want them, and the barrier of a cooperative one.
class Prepared {
 public:
  explicit Prepared(Launch& launch) : launch_(launch) {
    const auto& constants = launch.kernel->constants;
    launch.constants = constants_.resize(constants.size());
    if (!constants.empty()) std::memcpy(launch.constants, constants.data(), constants.size() * sizeof(std::uint32_t));
    launch.caches.assign(launch.kernel->caches, nullptr);
    if (launch.work != nullptr) {
      launch.patterns.assign(launch.kernel->caches, {});
      for (std::size_t i = 0; i < launch.kernel->code.size(); ++i)
        launch.code_parts.push_back(static_cast<std::uint8_t>(mix(launch.salt, i) % kCodeParts));
    }
    launch.takes_turns = launch.kernel->cooperative || launch.kernel->awaits_blocks ||
                         (launch.kernel->shares_counters && all_resident(launch));
    if (launch.kernel->awaits_blocks && launch.waits == nullptr) {
      own_waits_.emplace(launch);
      launch.waits = &*own_waits_;
    }
    if (!launch.kernel->cooperative) return;
    launch.grid_workspace = launch.memory->allocate_for_launch(kGridWorkspaceBytes, "grid barrier");
    std::memset(launch.memory->at(launch.grid_workspace, kGridWorkspaceBytes), 0, kGridWorkspaceBytes);
  }
  ~Prepared() {
    launch_.constants = nullptr;
    launch_.code_parts.clear();
    launch_.patterns.clear();
    if (own_waits_) launch_.waits = nullptr;
    if (!launch_.kernel->cooperative) return;
    if (launch_.observer != nullptr) launch_.observer->freed(launch_.grid_workspace);
    launch_.memory->free(launch_.grid_workspace);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  Launch& launch_;
  AlignedWords constants_;
  std::optional<WaitLog> own_waits_;
};

/// Begins to trace those of a cluster's blocks that are wanted.
void begin_traces(Cluster& cluster, const Sampling& sampling) {
  for (const auto& block : cluster.blocks) {
    if (std::ranges::find(sampling.blocks, block->number) == sampling.blocks.end()) continue;
    TracedBlock traced;
    std::copy(block->index.begin(), block->index.end(), traced.index);
    traced.number = block->number;
    traced.warps = static_cast<std::uint32_t>(block->warps.size());
    traced.registers = cluster.launch->kernel->trace.register_count;
    sampling.tracer->begin_block(traced);
    block->tracer = sampling.tracer;
  }
}

/// Notes what its blocks have done, and ends their traces.
void end_blocks(Cluster& cluster) {
  for (const auto& block : cluster.blocks) {
    if (cluster.launch->work != nullptr) cluster.launch->work[block->number] = block->work();
    if (cluster.launch->waits != nullptr)
      for (Warp& warp : block->warps) cluster.launch->waits->end_warp(warp);
    if (block->tracer == nullptr) continue;
    block->tracer->go_on_with(block->number);
    block->tracer->end_block();
    block->tracer = nullptr;
  }
}

std::uint64_t blocks_of_cluster(const Launch& launch) {
  return std::uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
}

/// The number of the cluster, x first, that a block is in.
std::uint64_t cluster_number(const Launch& launch, std::uint64_t block) {
  const std::uint64_t x = block % launch.grid[0], y = block / launch.grid[0] % launch.grid[1],
                      z = block / launch.grid[0] / launch.grid[1];
  const std::uint64_t columns = launch.grid[0] / launch.cluster[0], rows = launch.grid[1] / launch.cluster[1];
  return (z / launch.cluster[2] * rows + y / launch.cluster[1]) * columns + x / launch.cluster[0];
}

/// The numbers of clusters that have not begun, in ascending order. Several threads may take from it.
class Queue {
 public:
  explicit Queue(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)), count_(numbers_.size()) {}
  /// All numbers below `count` but those of `without`, which is sorted.
  Queue(std::uint64_t count, std::vector<std::uint64_t> without) : without_(std::move(without)), count_(count) {}

  std::optional<std::uint64_t> take() {
    while (!stopped_) {
      const std::uint64_t at = next_++;
      if (at >= count_) return std::nullopt;
      if (!numbers_.empty()) return numbers_[at];
      if (!std::binary_search(without_.begin(), without_.end(), at)) return at;
    }
    return std::nullopt;
  }
  bool empty() const { return stopped_ || next_ >= count_; }
  /// Nothing more is given out.
  void stop() { stopped_ = true; }

 private:
  std::vector<std::uint64_t> numbers_, without_;
  std::uint64_t count_ = 0;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stopped_{false};
};

/// Warp instructions that all threads of a launch have executed.
class Meter {
 public:
  explicit Meter(const Launch& launch) : launch_(launch) {}
  /// False when the launch's budget is spent.
  bool count(std::uint64_t instructions) { return (all_ += instructions) <= launch_.budget.launch_instructions; }
  std::uint64_t all() const { return all_; }
  Failure spent() const {
    return failure_of(Verdict::timed_out, fmt::format("kernel {} has not ended after {} warp instructions",
                                                      launch_.kernel->name, launch_.budget.launch_instructions));
  }

 private:
  const Launch& launch_;
  std::atomic<std::uint64_t> all_{0};
};

/// Clusters, mostly of one block, run one after another. One that takes long may spin on another's work: then
/// others start as well, as many as a real device would hold.
class Scheduler {
 public:
  Scheduler(Launch& launch, Queue& queue, Meter& meter, const Sampling& sampling = {})
      : launch_(launch), queue_(queue), meter_(meter), sampling_(sampling) {
    resident_ = std::max<std::uint64_t>(launch.resident_blocks / blocks_of_cluster(launch), 1);
  }

  /// Ends early when the launch fails; then failed_in() is the number of the cluster.
  void run() {
    while (std::unique_ptr<Cluster> cluster = choose()) {
      const std::uint64_t before = launch_.executed;
      Cluster::State state = cluster->run();
      if (!meter_.count(launch_.executed - before) && state != Cluster::State::failed) {
        launch_.failure = meter_.spent();
        state = Cluster::State::failed;
      }
      if (state == Cluster::State::finished) {
        end_blocks(*cluster);
        idle_.push_back(std::move(cluster));
        continue;
      }
      if (state == Cluster::State::suspended) stalled_ = 0;
      if (state == Cluster::State::stalled && nobody_helps()) {
        if (!anybody_goes_ahead(*cluster)) {
          cluster->deadlock();
          state = Cluster::State::failed;
        }
        stalled_ = 0;
      }
      if (state == Cluster::State::failed) {
        failed_in_ = cluster->number;
        return;
      }
      suspended_.push_back(std::move(cluster));
    }
  }
  std::uint64_t failed_in() const { return failed_in_; }

 private:
  /// Null when all have ended.
  std::unique_ptr<Cluster> choose() {
    std::optional<std::uint64_t> number;
    if (suspended_.size() < resident_) number = queue_.take();
    if (!number) {
      if (suspended_.empty()) return nullptr;
      std::unique_ptr<Cluster> longest = std::move(suspended_.front());
      suspended_.erase(suspended_.begin());
      return longest;
    }
    if (idle_.empty()) idle_.push_back(std::make_unique<Cluster>(launch_));
    std::unique_ptr<Cluster> fresh = std::move(idle_.back());
    idle_.pop_back();
    fresh->start(*number);
    if (sampling_.tracer != nullptr) begin_traces(*fresh, sampling_);
    return fresh;
  }

  /// Whether all that could run have stalled, one after the other.
  bool nobody_helps() {
    if (launch_.progress != progress_) stalled_ = 0;
    progress_ = launch_.progress;
    const bool full = queue_.empty() || suspended_.size() + 1 >= resident_;
    return full && ++stalled_ > 2 * suspended_.size();
  }

  /// Lets lanes go ahead that await others of their warp. False when there are none.
  bool anybody_goes_ahead(Cluster& stalled) const {
    bool any = stalled.release_joins();
    for (const auto& cluster : suspended_) any |= cluster->release_joins();
    return any;
  }

  Launch& launch_;
  Queue& queue_;
  Meter& meter_;
  const Sampling sampling_;
  std::uint64_t resident_ = 1;
  std::uint64_t failed_in_ = 0;
  std::uint64_t progress_ = 0;
  std::uint64_t stalled_ = 0;
  std::vector<std::unique_ptr<Cluster>> idle_;
  std::vector<std::unique_ptr<Cluster>> suspended_;
};

/// The clusters that hold the sampled blocks.
std::vector<std::uint64_t> sampled_clusters(const Launch& launch, const Sampling& sampling) {
  std::vector<std::uint64_t> numbers;
  for (const std::uint64_t block : sampling.blocks) numbers.push_back(cluster_number(launch, block));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// What one thread changes of a launch while others run the same.
Launch share_of(const Launch& launch) {
  Launch share = launch;
  share.executed = 0;
  share.caches.assign(launch.kernel->caches, nullptr);
  return share;
}

/// Independent clusters: those that are sampled first, which shows what a cluster costs, then all others on as many
/// threads as are worth their start.
void run_on_threads(Launch& launch, const Sampling& sampling, std::uint64_t count) {
  // Some milliseconds: a thread's start takes tens of microseconds.
  constexpr std::uint64_t kWorthwhile = 500'000;
  std::vector<std::uint64_t> first = sampled_clusters(launch, sampling);
  if (first.empty()) first.push_back(0);
  Meter meter(launch);
  Queue ahead(first);
  Scheduler sampled(launch, ahead, meter, sampling);
  sampled.run();
  const std::uint64_t left = count - first.size();
  const bool worthwhile = meter.all() / first.size() * left >= kWorthwhile;
  // A failure of lower number may still come.
  Queue others(launch.failure ? sampled.failed_in() : count, first);
  std::vector<Launch> shares(worthwhile ? static_cast<std::size_t>(launch.threads) : 1, share_of(launch));
  for (Launch& share : shares) share.failure.reset();
  std::vector<std::uint64_t> failed_in(shares.size(), ~std::uint64_t{0});
  const auto work = [&](std::size_t index) {
    Scheduler scheduler(shares[index], others, meter);
    scheduler.run();
    if (!shares[index].failure) return;
    failed_in[index] = scheduler.failed_in();
    others.stop();
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < shares.size(); ++i) helpers.emplace_back(work, i);
    } catch (const std::system_error&) {  // Limits of this process: those that have started do the work.
    }
    work(0);
  }
  launch.executed = meter.all();
  const auto lowest = std::min_element(failed_in.begin(), failed_in.end());
  const Launch& failed = shares[static_cast<std::size_t>(lowest - failed_in.begin())];
  if (!failed.failure) return;
  launch.failure = failed.failure;
  launch.failure_kind = failed.failure_kind;
  launch.failure_line = failed.failure_line;
}

}  // namespace

void run_blocks(Launch& launch, const Sampling& sampling) {
  const Prepared prepared(launch);
  const std::uint64_t count =
      std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] / blocks_of_cluster(launch);
  const bool watched = launch.observer != nullptr || sampling.alone;
  if (launch.threads > 1 && launch.kernel->independent_blocks && !watched)
    return run_on_threads(launch, sampling, count);
  Queue queue = sampling.alone ? Queue(sampled_clusters(launch, sampling)) : Queue(count, {});
  Meter meter(launch);
  Scheduler(launch, queue, meter, sampling).run();
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/machine/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/machine/wait_log.h"

namespace evo::vgpu {
namespace {

/// Instructions after which a cluster that has not ended lets others begin.
constexpr std::uint64_t kClusterTurn = 64'000'000;
/// The same where clusters take turns: they are known to wait for each other, or one of them has run for kClusterTurn.
/// A kernel with a grid barrier of its own spends a whole turn at its first barrier, and must not at the next ones.
constexpr std::uint64_t kShortTurn = 0;
/// The cluster counts as stalled when waits at mbarriers have reached their time limit this often and nothing else has
/// happened. Kernels that give up after some tries still end.
constexpr int kPatience = 1000;

std::array<std::uint32_t, 3> at(const std::array<std::uint32_t, 3>& size, std::uint64_t linear) {
  return {static_cast<std::uint32_t>(linear % size[0]), static_cast<std::uint32_t>(linear / size[0] % size[1]),
          static_cast<std::uint32_t>(linear / size[0] / size[1])};
}

/// What the waiting lanes of a warp wait for. Empty when the warp has ended.
std::string describe_wait(const Warp& warp) {
  const Kernel& kernel = *warp.launch->kernel;
  const Block& block = *warp.block;
  std::string text;
  const Instruction* polling = warp.polls.at;
  if (warp.polls.read != nullptr && polling != nullptr && !warp.finished() && warp.current >= 0 &&
      warp.next == kernel.code.data() + polling->aux0) {
    const std::uint32_t line = kernel.line_of(*warp.polls.read);
    const std::string barrier = warp.launch->waits->barrier_at(*warp.launch, warp.polls.address);
    text = fmt::format("warp {} lanes {:#010x} poll memory in {}{} {}", warp.index, warp.polls.active,
                       kernel.opcode_at(kernel.index_of(*warp.polls.read)),
                       line != 0 ? fmt::format(" (line {})", line) : "",
                       barrier.empty() ? fmt::format("({}), which nobody writes any more",
                                                     describe_address(*warp.launch->memory, warp.polls.address))
                                       : barrier);
  }
  for (const Split& split : warp.splits) {
    if (split.state == Split::State::free || split.state == Split::State::ready) continue;
    if (!text.empty()) text += "; ";
    const std::uint32_t line = kernel.line_of(*split.waits_in);
    const std::string& opcode = kernel.opcode_at(kernel.index_of(*split.waits_in));
    const std::string place = line != 0 ? fmt::format("{} (line {})", opcode, line) : opcode;
    if (split.state == Split::State::waits_at_mbarrier) {
      text += fmt::format("warp {} lanes {:#010x} wait in {} {}", warp.index, split.waiting, place,
                          block.mbarriers.describe_wait(split.barrier));
    } else if (split.state == Split::State::waits_for_cluster) {
      text += fmt::format("warp {} lanes {:#010x} wait in {} for the cluster: {} of its {} threads have arrived",
                          warp.index, split.waiting, place, block.cluster->arrived, block.cluster->live());
    } else if (split.state == Split::State::waits_for_registers) {
      text += fmt::format(
          "warp {} waits in {} for registers: the other warps have given back {} for each thread "
          "of a warp",
          warp.index, place, block.free_registers);
    } else if (split.state == Split::State::waits_for_columns) {
      text += fmt::format("warp {} waits in {} for {} columns of tensor memory side by side: {} are free", warp.index,
                          place, split.barrier, block.tensor_memory.free_columns());
    } else if (split.state == Split::State::waits_at_barrier) {
      const Barrier& barrier = block.barriers[split.barrier];
      text += fmt::format("warp {} lanes {:#010x} wait in {} at barrier {}, where {} of {} threads have arrived",
                          warp.index, split.waiting, place, split.barrier, barrier.arrived,
                          barrier.expected != 0 ? barrier.expected : block.live);
    } else {
      text += fmt::format("warp {} lanes {:#010x} wait in {} for lanes {:#010x}", warp.index, split.waiting, place,
                          split.required & warp.live() & ~split.waiting);
    }
  }
  return text;
}

}  // namespace

Cluster::Cluster(Launch& owner) : launch(&owner) {
  const std::uint32_t size = owner.cluster[0] * owner.cluster[1] * owner.cluster[2];
  for (std::uint32_t rank = 0; rank < size; ++rank) blocks.push_back(std::make_unique<Block>(owner, *this, rank));
}

void Cluster::start(std::uint64_t its_number) {
  number = its_number;
  const auto& size = launch->cluster;
  const auto first = at({launch->grid[0] / size[0], launch->grid[1] / size[1], launch->grid[2] / size[2]}, number);
  arrived = 0;
  generation = 0;
  phase = ++launch->phases;
  phase_before = 0;
  under_way_.clear();
  for (const auto& block : blocks) {
    std::array<std::uint32_t, 3> index = at(size, block->rank);
    for (std::size_t i = 0; i < 3; ++i) index[i] += first[i] * size[i];
    block->start(index);
  }
}

std::uint32_t Cluster::live() const {
  std::uint32_t threads = 0;
  for (const auto& block : blocks) threads += block->live;
  return threads;
}

Cluster::State Cluster::run() {
  const std::uint64_t begun = launch->executed;
  std::uint64_t progress = launch->progress;
  int stuck = 0;
  while (live() > 0) {
    bool advanced = false, polls = false, polls_own = false;
    for (const auto& block : blocks) {
      if (block->live == 0) continue;
      advanced |= block->run_warps();
      polls |= block->polls;
      polls_own |= block->polls_own;
      if (launch->failure) return State::failed;
    }
    // What a lane holds that waits for others of its warp they may wait for.
    if (!advanced && polls && !(polls_own && release_joins())) return State::stalled;
    advanced |= polls;
    if (launch->progress != progress) stuck = 0;
    progress = launch->progress;
    if (!advanced) {
      if (++stuck > kPatience) return State::stalled;
      if (!loosen()) {
        deadlock();
        return State::failed;
      }
    }
    if (launch->executed - begun > (launch->takes_turns ? kShortTurn : kClusterTurn)) {
      launch->takes_turns = true;
      return State::suspended;
    }
  }
  for (const auto& block : blocks)
    for (const TensorMemory::Allocation& left : block->tensor_memory.allocations()) {
      Warp& warp = block->warps[left.warp];
      warp.fail(*left.allocated_in,
                fmt::format("{} columns of tensor memory from column {} are still allocated when the block ends: "
                            "tcgen05.dealloc is missing",
                            left.columns, left.column));
      return State::failed;
    }
  if (launch->observer != nullptr)
    for (const BulkOperation& operation : under_way_) launch->observer->left_under_way(operation);
  return State::finished;
}

bool Cluster::release_joins() {
  bool released = false;
  for (const auto& block : blocks)
    for (Warp& warp : block->warps) released |= !warp.finished() && warp.release_joins();
  return released;
}

/// For a cluster in which no warp can advance: lets lanes go ahead that await others of their warp, else ends the waits
/// that have a time limit. False when there is neither.
bool Cluster::loosen() {
  if (release_joins()) return true;
  bool loosened = false;
  for (const auto& block : blocks)
    for (Warp& warp : block->warps) loosened |= warp.expire_waits();
  return loosened;
}

void Cluster::deadlock() {
  std::string waits;
  int described = 0;
  const Block* first = nullptr;
  for (const auto& block : blocks) {
    if (block->live == 0) continue;
    if (first == nullptr) first = block.get();
    if (launch->observer != nullptr) launch->observer->stuck(*block);
    for (const Warp& warp : block->warps) {
      const std::string text = describe_wait(warp);
      if (text.empty()) continue;
      if (++described > 4) break;
      if (!waits.empty()) waits += "; ";
      if (block.get() != first)
        waits += fmt::format("block ({}, {}, {}) ", block->index[0], block->index[1], block->index[2]);
      waits += text;
    }
  }
  if (described > 4) waits += "; ...";
  launch->failure = failure_of(
      Verdict::crashed, fmt::format("kernel {}, block ({}, {}, {}): deadlock: no warp can advance: {}",
                                    launch->kernel->name, first->index[0], first->index[1], first->index[2], waits));
  launch->failure_kind = FindingKind::deadlock;
}

// ---- barrier.cluster

void Cluster::arrive(std::uint32_t threads) {
  arrived += threads;
  release_if_complete();
}

void Cluster::release_if_complete() {
  if (arrived == 0 || arrived < live()) return;
  arrived = 0;
  ++generation;
  phase_before = phase;
  phase = ++launch->phases;
  if (launch->observer != nullptr) launch->observer->cluster_complete(*this);
  ++launch->progress;
  for (const auto& block : blocks) block->wake(Split::State::waits_for_cluster, 0);
}

// ---- Bulk operations

void Cluster::issue(BulkOperation operation) {
  operation.barrier_of->wake(Split::State::waits_at_mbarrier, operation.barrier);
  under_way_.push_back(std::move(operation));
}

bool Cluster::land_for(Block& block, std::uint32_t barrier) {
  const Mbarrier* awaited = block.mbarriers.find(barrier);
  if (awaited == nullptr) return true;
  const std::uint64_t phase = awaited->phase;
  for (std::size_t i = 0; i < under_way_.size();) {
    if (under_way_[i].barrier_of != &block || under_way_[i].barrier != barrier) {
      ++i;
      continue;
    }
    const BulkOperation operation = std::move(under_way_[i]);
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    if (launch->observer != nullptr) launch->observer->begin_landing(block, barrier);
    operation.perform();
    if (launch->observer != nullptr) launch->observer->end_landing();
    Mbarrier* barrier_then = mbarrier_at(*operation.issued_by, *operation.issued_in, operation.lane, {&block, barrier});
    if (barrier_then == nullptr) return false;
    MbarrierChange change;
    change.bytes = -std::int64_t{operation.bytes};
    change.arrivals = operation.arrivals;
    if (const std::string wrong = block.change_mbarrier(*barrier_then, change); !wrong.empty()) {
      operation.issued_by->fail(*operation.issued_in, wrong + " at the end of the copy", operation.lane);
      return false;
    }
    if (barrier_then->phase != phase) return true;
  }
  return true;
}

}  // namespace evo::vgpu

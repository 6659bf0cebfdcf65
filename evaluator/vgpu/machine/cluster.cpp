#include "evaluator/vgpu/machine/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "evaluator/vgpu/sanitiser/sanitiser.h"

namespace evo::vgpu {
namespace {

/// Instructions after which a cluster that has not ended lets others begin.
constexpr std::uint64_t kClusterTurn = 64'000'000;
/// Of a kernel whose clusters take turns, as they are known to wait for each other, or one of them has run for that
/// long: a kernel with a grid barrier of its own spends its first turn there, and must not spend another at the next.
constexpr std::uint64_t kShortTurn = 0;
/// How often waits at mbarriers may reach their time limit, nothing else having happened, until the cluster
/// counts as stalled. Kernels that give up after some tries have their chance.
constexpr int kPatience = 1000;

std::array<std::uint32_t, 3> at(const std::array<std::uint32_t, 3>& size, std::uint64_t linear) {
  return {static_cast<std::uint32_t>(linear % size[0]), static_cast<std::uint32_t>(linear / size[0] % size[1]),
          static_cast<std::uint32_t>(linear / size[0] / size[1])};
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
    bool advanced = false;
    for (const auto& block : blocks) {
      if (block->live == 0) continue;
      advanced |= block->run_warps();
      if (launch->failure) return State::failed;
    }
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
  if (launch->sanitiser != nullptr)
    for (const BulkOperation& operation : under_way_) launch->sanitiser->left_under_way(operation);
  return State::finished;
}

/// Nobody can advance: lets lanes go ahead that await others of their warp, else ends the waits that have a time
/// limit. False when there is neither.
bool Cluster::loosen() {
  bool loosened = false;
  for (const auto& block : blocks)
    for (Warp& warp : block->warps) loosened |= !warp.finished() && warp.release_joins();
  if (loosened) return true;
  for (const auto& block : blocks)
    for (Warp& warp : block->warps) loosened |= warp.expire_waits();
  return loosened;
}

void Cluster::deadlock() {
  std::string waits;
  int told = 0;
  const Block* first = nullptr;
  for (const auto& block : blocks) {
    if (block->live == 0) continue;
    if (first == nullptr) first = block.get();
    if (block->watch != nullptr) launch->sanitiser->stuck(*block);
    for (const Warp& warp : block->warps) {
      const std::string text = warp.describe_wait();
      if (text.empty()) continue;
      if (++told > 4) break;
      if (!waits.empty()) waits += "; ";
      if (block.get() != first)
        waits += fmt::format("block ({}, {}, {}) ", block->index[0], block->index[1], block->index[2]);
      waits += text;
    }
  }
  if (told > 4) waits += "; ...";
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
  if (launch->sanitiser != nullptr) launch->sanitiser->complete_cluster(*this);
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
    if (block.watch != nullptr) launch->sanitiser->begin_landing(block, barrier);
    operation.perform();
    if (block.watch != nullptr) launch->sanitiser->end_landing();
    Mbarrier* told = mbarrier_at(*operation.issued_by, *operation.issued_in, operation.lane, {&block, barrier});
    if (told == nullptr) return false;
    MbarrierChange change;
    change.bytes = -std::int64_t{operation.bytes};
    change.arrivals = operation.arrivals;
    if (const std::string wrong = change_mbarrier(block, *told, change); !wrong.empty()) {
      operation.issued_by->fail(*operation.issued_in, wrong + " at the end of the copy", operation.lane);
      return false;
    }
    if (told->phase != phase) return true;
  }
  return true;
}

namespace {

void perform_once(Warp& warp, BulkOperation& operation) {
  if (std::exchange(operation.performed, true)) return;
  operation.perform();
  ++warp.launch->progress;
}

}  // namespace

void abandon_bulk_groups(Warp& warp, std::uint32_t lanes) {
  const auto ends = [&](const BulkOperation& operation) { return (lanes >> operation.lane & 1u) != 0; };
  for (BulkOperation& operation : warp.bulk_operations)
    if (ends(operation)) perform_once(warp, operation);
  std::erase_if(warp.bulk_operations, ends);
}

void land_bulk_groups(Warp& warp, std::uint32_t lanes, std::uint32_t stay, bool reads_only) {
  const auto ends = [&](const BulkOperation& operation) {
    const auto lane = static_cast<std::size_t>(operation.lane);
    return (lanes >> lane & 1u) != 0 &&
           std::int64_t{operation.group} < std::int64_t{warp.committed_bulk_groups[lane]} - std::int64_t{stay};
  };
  for (BulkOperation& operation : warp.bulk_operations) {
    if (!ends(operation)) continue;
    perform_once(warp, operation);
    if (operation.settle && !reads_only) operation.settle();
  }
  std::erase_if(warp.bulk_operations,
                [&](const BulkOperation& operation) { return ends(operation) && !(operation.settle && reads_only); });
}

// ---- Places in shared memory

std::optional<SharedPlace> shared_place(Warp& warp, const Instruction& in, int lane, AccessMode mode,
                                        std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment) {
  if (resolve_lane(warp, in, lane, mode, address, bytes) == nullptr) return std::nullopt;
  if (mode.where == Where::generic) {
    if (address - kSharedWindow >= kWindowBytes) {
      warp.fail(in, fmt::format("{:#x} is not in shared memory", address), lane);
      return std::nullopt;
    }
    address -= kSharedWindow;
  }
  if (address % alignment != 0) {
    warp.fail(in,
              fmt::format("byte {} of shared memory is not aligned to {} bytes", address & ((1u << kRankShift) - 1),
                          alignment),
              lane);
    return std::nullopt;
  }
  const auto rank = static_cast<std::uint32_t>(address >> kRankShift);
  Block* block = rank == 0 ? warp.block : warp.block->cluster->blocks[rank - 1].get();
  return SharedPlace{block, static_cast<std::uint32_t>(address) & ((1u << kRankShift) - 1)};
}

Mbarrier* mbarrier_at(Warp& warp, const Instruction& in, int lane, const SharedPlace& place) {
  Mbarrier* barrier = place.block->mbarriers.find(place.offset);
  if (barrier == nullptr) {
    warp.fail(in, fmt::format("no mbarrier has been initialised at byte {} of shared memory", place.offset), lane);
    return nullptr;
  }
  if (std::memcmp(place.block->shared.data() + place.offset, &barrier->word, sizeof barrier->word) != 0) {
    warp.fail(in,
              fmt::format("the mbarrier at byte {} of shared memory has been overwritten{}", place.offset,
                          barrier->line == 0 ? "" : fmt::format(" since its initialisation in line {}", barrier->line)),
              lane);
    return nullptr;
  }
  return barrier;
}

}  // namespace evo::vgpu

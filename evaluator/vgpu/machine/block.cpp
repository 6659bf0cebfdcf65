#include "evaluator/vgpu/machine/block.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/machine/observer.h"

namespace evo::vgpu {
namespace {

/// After so many instructions without a wait a warp gives way: it may spin until another warp stores something.
constexpr std::uint64_t kTurn = 65'536;
/// The same where clusters take turns. What they share, such as a queue of work, all get at about the same rate.
constexpr std::uint64_t kTurnAmongOthers = 4'096;
/// The same where blocks await each other: as on a GPU all run at about the same pace, and see what others have done.
constexpr std::uint64_t kTurnOfWaiting = 32;

std::uint64_t turn_of(const Launch& launch) {
  if (launch.kernel->awaits_blocks) return kTurnOfWaiting;
  return launch.takes_turns ? kTurnAmongOthers : kTurn;
}

std::uint32_t lanes_below(std::uint32_t lane) {
  return lane >= 32 ? kAllLanes : (1u << lane) - 1;
}

}  // namespace

std::uint32_t* AlignedWords::resize(std::size_t words) {
  constexpr std::size_t kPadding = 16;
  if (storage_.size() < words + kPadding) storage_.resize(words + kPadding);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  begin_ = storage_.data() + (64 - address % 64) % 64 / sizeof(std::uint32_t);
  return begin_;
}

Block::Block(Launch& owner, Cluster& its_cluster, std::uint32_t its_rank)
    : launch(&owner), cluster(&its_cluster), rank(its_rank) {
  const Kernel& kernel = *owner.kernel;
  threads = owner.block[0] * owner.block[1] * owner.block[2];
  warps.resize((threads + 31) / 32);
  shared.resize(kReservedSmemBytes + kernel.static_smem_bytes + owner.dynamic_smem_bytes);
  local_.resize(static_cast<std::size_t>(kernel.local_bytes) * 32 * warps.size());
  const std::size_t row_words = static_cast<std::size_t>(kernel.rows) * kRowWords;
  std::uint32_t* rows = rows_.resize(row_words * warps.size());
  std::uint32_t* predicates = predicates_.resize(static_cast<std::size_t>(kernel.predicates) * warps.size());
  for (std::size_t i = 0; i < warps.size(); ++i) {
    Warp& warp = warps[i];
    warp.bases[0] = rows + row_words * i;
    warp.bases[1] = owner.constants;
    warp.predicates = predicates + kernel.predicates * i;
    warp.block = this;
    warp.launch = launch;
    warp.index = static_cast<std::uint32_t>(i);
    warp.existing = lanes_below(threads - static_cast<std::uint32_t>(i) * 32);
    warp.local = local_.data() + static_cast<std::size_t>(kernel.local_bytes) * 32 * i;
  }
  if (owner.observer != nullptr) observed = owner.observer->observe(*this);
}

Block::~Block() = default;

void Block::start(std::array<std::uint32_t, 3> block_index) {
  const Kernel& kernel = *launch->kernel;
  index = block_index;
  number = (std::uint64_t{index[2]} * launch->grid[1] + index[1]) * launch->grid[0] + index[0];
  live = threads;
  barriers = {};
  mbarriers.clear();
  tensor_memory.start();
  free_registers = 0;
  l1.clear();
  warpgroups.assign((warps.size() + kWarpgroupWarps - 1) / kWarpgroupWarps, {});
  std::memset(shared.data(), kFreshByte, shared.size());
  const std::size_t reserved = kReservedSmemBytes + kernel.reserved_smem;
  if (kernel.reserved_smem_bytes != 0) std::memset(shared.data() + reserved, 0, kernel.reserved_smem_bytes);
  if (!local_.empty()) std::memset(local_.data(), kFreshByte, local_.size());
  // Registers start as zero: what an uninitialised one holds is undefined, but two runs must agree.
  std::memset(rows_.data(), 0, static_cast<std::size_t>(kernel.rows) * kRowWords * 4 * warps.size());
  std::memset(predicates_.data(), 0, static_cast<std::size_t>(kernel.predicates) * 4 * warps.size());
  if (launch->observer != nullptr) launch->observer->begin_block(*this);
  for (Warp& warp : warps) {
    warp.predicates[0] = kAllLanes;
    fill_specials(warp);
    warp.block_index = index;
    warp.start(kernel.code.data());
  }
}

namespace {

// Long because: each register has its case, so that the compiler names one that is forgotten.
std::uint32_t special_value(const Block& block, const Warp& warp, Special special, std::uint32_t lane) {
  const Launch& launch = *block.launch;
  const std::uint32_t thread = warp.index * 32 + lane;
  const auto& size = launch.block;
  const auto& cluster = launch.cluster;
  const auto at = [](const auto& triple, Special value, Special first) {
    return triple[static_cast<std::size_t>(value) - static_cast<std::size_t>(first)];
  };
  switch (special) {
    case Special::tid_x:
      return thread % size[0];
    case Special::tid_y:
      return thread / size[0] % size[1];
    case Special::tid_z:
      return thread / size[0] / size[1];
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z:
      return at(size, special, Special::ntid_x);
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
      return at(block.index, special, Special::ctaid_x);
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      return at(launch.grid, special, Special::nctaid_x);
    case Special::laneid:
      return lane;
    case Special::warpid:
      return warp.index;
    case Special::nwarpid:
      return 64;
    case Special::smid: {
      const std::uint32_t linear = (block.index[2] * launch.grid[1] + block.index[1]) * launch.grid[0] + block.index[0];
      return linear % launch.sm_count;
    }
    case Special::nsmid:
      return launch.sm_count;
    case Special::gridid:
      return 1;
    case Special::lanemask_eq:
      return 1u << lane;
    case Special::lanemask_le:
      return lanes_below(lane + 1);
    case Special::lanemask_lt:
      return lanes_below(lane);
    case Special::lanemask_ge:
      return ~lanes_below(lane);
    case Special::lanemask_gt:
      return ~lanes_below(lane + 1);
    case Special::dynamic_smem_size:
      return launch.dynamic_smem_bytes;
    case Special::total_smem_size:
      return launch.kernel->static_smem_bytes + launch.dynamic_smem_bytes;
    case Special::aggr_smem_size:
      return kReservedSmemBytes + launch.kernel->static_smem_bytes + launch.dynamic_smem_bytes;
    case Special::reserved_smem_begin:
    case Special::zero:
      return 0;
    case Special::reserved_smem_end:
    case Special::reserved_smem_cap:
      return kReservedSmemBytes;
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z:
      return at(block.index, special, Special::clusterid_x) / at(cluster, special, Special::clusterid_x);
    case Special::nclusterid_x:
    case Special::nclusterid_y:
    case Special::nclusterid_z:
      return at(launch.grid, special, Special::nclusterid_x) / at(cluster, special, Special::nclusterid_x);
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z:
      return at(block.index, special, Special::cluster_ctaid_x) % at(cluster, special, Special::cluster_ctaid_x);
    case Special::cluster_nctaid_x:
    case Special::cluster_nctaid_y:
    case Special::cluster_nctaid_z:
      return at(cluster, special, Special::cluster_nctaid_x);
    case Special::cluster_ctarank:
      return (block.index[2] % cluster[2] * cluster[1] + block.index[1] % cluster[1]) * cluster[0] +
             block.index[0] % cluster[0];
    case Special::cluster_nctarank:
      return cluster[0] * cluster[1] * cluster[2];
    case Special::reserved_smem:
      return kReservedSmemBytes + launch.kernel->reserved_smem;
    case Special::grid_workspace_high:
      return static_cast<std::uint32_t>(launch.grid_workspace >> 32);
    case Special::grid_workspace_low:
      return static_cast<std::uint32_t>(launch.grid_workspace);
    case Special::frame:
      return 0;
    case Special::stack:
      return launch.kernel->local_bytes - kStackBytes;
    case Special::is_explicit_cluster:
      return cluster[0] * cluster[1] * cluster[2] > 1 ? 1 : 0;
  }
  return 0;
}

}  // namespace

void Block::fill_specials(Warp& warp) {
  for (const SpecialRow& row : launch->kernel->specials) {
    std::uint32_t* lanes = warp.own(row.place);
    for (std::uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = special_value(*this, warp, row.special, lane);
  }
}

template <Block::Noted kNoted, bool kWatched>
void Block::run_split(Warp& warp, std::uint64_t limit) {
  const bool counts = kNoted == Noted::counts || !launch->code_parts.empty();
  while (warp.stop == Stop::none && warp.executed < limit) {
    const Instruction& instruction = *warp.next++;
    ++warp.executed;
    if constexpr (kNoted != Noted::nothing)
      if (counts) ++warp.demand.code[launch->code_parts[launch->kernel->index_of(instruction)]];
    const std::uint32_t mask = warp.active & (warp.predicates[instruction.guard] ^ instruction.guard_flip);
    if constexpr (kWatched) {
      if (launch->observer != nullptr) launch->observer->before_instruction(warp, instruction, mask);
    }
    if (mask == 0) continue;
    if constexpr (kNoted == Noted::trace) {
      launch->access = {};
      launch->arrival = {};
      launch->async = {};
      launch->paths = 1;
      launch->poll = Poll::none;
    }
    if constexpr (kWatched) {
      const Kernel& kernel = *launch->kernel;
      const auto& first_use = kernel.product_registers.first_use;
      const std::uint32_t at = kernel.index_of(instruction);
      if (!first_use.empty() && first_use[at] != first_use[at + 1]) {
        const char* wrong = warp.products.touch(kernel.product_registers, at, kernel.trace.traced[at].op_class);
        if (wrong != nullptr) return warp.fail(instruction, wrong);
      }
    }
    instruction.execute(warp, instruction, mask);
    if constexpr (kNoted == Noted::trace) {
      if (launch->async.kind == AsyncAction::Kind::parked) continue;  // It will be executed again.
      const TracedInstruction& traced = launch->kernel->trace.traced[launch->kernel->index_of(instruction)];
      Issue issue;
      issue.warp = warp.index;
      issue.active = mask;
      issue.branch_paths = launch->paths;
      issue.memory = launch->access.space == TracedSpace::none ? nullptr : &launch->access;
      issue.barrier = launch->arrival.expected_warps == 0 ? nullptr : &launch->arrival;
      issue.async = launch->async.kind == AsyncAction::Kind::none ? nullptr : &launch->async;
      issue.poll = launch->poll;
      launch->tracer->issue(traced, issue);
    }
  }
}

/// False when the warp could not do anything, or only polled memory that nobody had written.
bool Block::run_warp(Warp& warp) {
  if (warp.current < 0 && !warp.resume()) return false;
  const std::uint64_t before = warp.executed, still_before = warp.polls.still;
  // Without what it only waited for others.
  const auto busy = [&] { return warp.executed - (launch->kernel->awaits_blocks ? warp.polls.idle : 0); };
  const std::uint64_t busy_before = busy();
  const std::uint64_t limit = std::min(before + turn_of(*launch), launch->budget.warp_instructions + 1);
  bool still = false;
  while (true) {
    const bool watched = launch->observer != nullptr || !launch->kernel->product_registers.first_use.empty();
    if (launch->tracer != nullptr) {
      watched ? run_split<Noted::trace, true>(warp, limit) : run_split<Noted::trace, false>(warp, limit);
    } else if (launch->notes_accesses) {
      watched ? run_split<Noted::counts, true>(warp, limit) : run_split<Noted::counts, false>(warp, limit);
    } else {
      watched ? run_split<Noted::nothing, true>(warp, limit) : run_split<Noted::nothing, false>(warp, limit);
    }
    const Stop why = warp.stop;
    if (why == Stop::failed) break;
    warp.stop = Stop::none;
    if (why == Stop::switch_split) {
      if (warp.finished() || !warp.resume()) break;
      continue;
    }
    const bool polled = why == Stop::yield && warp.polls.in_vain;
    if (polled && launch->kernel->awaits_blocks) {
      warp.polls.in_vain = false;
      still = warp.polls.still - still_before == warp.executed - before && !warp.give_way();
    } else if (polled) {  // A whole round of this turn was in vain, and so would the rest be: nobody else runs.
      warp.skip_polls(before, limit);
    }
    const bool ran_long = busy() / kTurn != busy_before / kTurn;
    if (ran_long || (why == Stop::yield && !polled && !launch->kernel->awaits_blocks)) warp.take_turns();
    break;
  }
  launch->executed += warp.executed - before;
  polls |= still;
  polls_own |= still && warp.polls.own;
  return !still;
}

/// Lets the other warps go on, so that a barrier that `waiting` has reached opens. False when none could.
bool Block::advance_others(const Warp& waiting) {
  bool advanced = false;
  for (Warp& warp : warps) {
    if (&warp == &waiting || warp.finished() || warp.stop == Stop::failed) continue;
    if (warp.current < 0 && !warp.resume()) continue;
    run_split<Noted::nothing, true>(warp, warp.executed + kTurn);
    if (warp.stop != Stop::failed) warp.stop = Stop::none;
    advanced = true;
  }
  return advanced;
}

/// "; it runs in lines 4 to 7": where a warp that does not end goes on, seen from its next instructions.
std::string Block::lines_of_loop(Warp& warp) {
  std::uint32_t least = ~0u, greatest = 0;
  launch->tracer = nullptr;
  for (std::uint64_t step = 0; step < kTurn && warp.stop != Stop::failed; ++step) {
    if (warp.current < 0 && !warp.resume()) {
      if (!advance_others(warp)) break;
      continue;
    }
    if (const std::uint32_t line = launch->kernel->line_of(*warp.next); line != 0) {
      least = std::min(least, line);
      greatest = std::max(greatest, line);
    }
    run_split<Noted::nothing, true>(warp, warp.executed + 1);
    if (warp.stop != Stop::failed) warp.stop = Stop::none;
  }
  if (greatest == 0) return "";
  launch->failure_line = least;
  return least == greatest ? fmt::format("; it runs in line {}", least)
                           : fmt::format("; it runs in lines {} to {}", least, greatest);
}

bool Block::run_warps() {
  bool advanced = false;
  polls = polls_own = false;
  launch->tracer = tracer;
  launch->notes_accesses = tracer != nullptr || !launch->code_parts.empty();
  if (tracer != nullptr) tracer->go_on_with(number);
  for (Warp& warp : warps) {
    if (warp.finished()) continue;
    advanced |= run_warp(warp);
    if (!launch->failure && warp.executed > launch->budget.warp_instructions) {
      const std::uint64_t executed = warp.executed - 1;
      const std::string lines = lines_of_loop(warp);
      launch->failure =
          failure_of(Verdict::timed_out,
                     fmt::format("kernel {}: warp {} of block ({}, {}, {}) has not ended after {} instructions{}",
                                 launch->kernel->name, warp.index, index[0], index[1], index[2], executed, lines));
    }
    if (launch->failure) break;
  }
  launch->tracer = nullptr;
  launch->notes_accesses = false;
  return advanced;
}

BlockWork Block::work() const {
  BlockWork all;
  for (const Warp& warp : warps) {
    const std::uint64_t own = warp.executed - warp.polls.idle;
    all.instructions += own;
    all.longest_path = std::max(all.longest_path, warp.path());
    all.shared_passes += warp.demand.shared_passes;
    all.sectors += warp.demand.sectors;
    for (std::size_t part = 0; part < kCodeParts; ++part) all.code[part] += warp.demand.code[part];
  }
  return all;
}

void Block::wake(Split::State state, std::uint32_t barrier) {
  for (Warp& warp : warps) warp.wake(state, barrier);
}

// ---- Barriers

void Block::arrive(Warp& warp, std::uint32_t id, std::uint32_t count, std::uint32_t lanes, std::uint32_t votes,
                   bool waits) {
  Barrier& barrier = barriers[id];
  const std::uint32_t bit = 1u << warp.index;
  barrier.expected = count;
  barrier.arrived += static_cast<std::uint32_t>(std::popcount(lanes));
  // Explicit counts are in whole warps: lanes that have exited, or never were, arrive with the first of their
  // warp.
  if (count != 0 && (barrier.warps & bit) == 0)
    barrier.arrived += 32u - static_cast<std::uint32_t>(std::popcount(warp.live()));
  barrier.warps |= bit;
  barrier.voters += static_cast<std::uint32_t>(std::popcount(lanes));
  barrier.votes += votes;
  barrier.waited_for |= waits;
  if (launch->observer != nullptr) launch->observer->arrive(warp, id, lanes);
  if (launch->tracer != nullptr) {
    launch->arrival = {id, count != 0 ? count / 32 : static_cast<std::uint32_t>(warps.size()), waits};
  }
  release_if_complete(id);
}

void Block::lanes_exited(std::uint32_t count) {
  live -= count;
  ++launch->progress;
  for (std::uint32_t id = 0; id < kBarriers; ++id) {
    if (barriers[id].warps != 0 && barriers[id].expected == 0) release_if_complete(id);
  }
}

namespace {

/// bar.red writes its result to the lanes of `mask`. `votes` of the `voters` that executed it had a true predicate.
void finish_barrier(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t votes, std::uint32_t voters) {
  switch (static_cast<BarrierKind>(in.aux0)) {
    case BarrierKind::popc: {
      Word* d = warp.own(in.op[0]);
      for (const int lane : lanes_of(mask)) d[lane] = votes;
      break;
    }
    case BarrierKind::logical_and:
      put_predicate(warp, in.op[0], votes == voters ? kAllLanes : 0, mask);
      break;
    case BarrierKind::logical_or:
      put_predicate(warp, in.op[0], votes != 0 ? kAllLanes : 0, mask);
      break;
    case BarrierKind::sync:
    case BarrierKind::arrive:
      break;
  }
}

}  // namespace

void Block::release_if_complete(std::uint32_t id) {
  Barrier& barrier = barriers[id];
  const std::uint32_t expected = barrier.expected != 0 ? barrier.expected : live;
  if (barrier.arrived < expected) return;
  const Barrier complete = barrier;
  barrier = {};
  ++launch->progress;
  if (launch->observer != nullptr) launch->observer->barrier_complete(*this, id, complete.expected == 0);
  std::uint64_t last = 0;
  for (const Warp& warp : warps)
    if ((complete.warps >> warp.index & 1u) != 0) last = std::max(last, warp.path());
  for (Warp& warp : warps) {
    if ((complete.warps >> warp.index & 1u) == 0) continue;
    for (Split& split : warp.splits) {
      if (split.state != Split::State::waits_at_barrier || split.barrier != id) continue;
      finish_barrier(warp, *split.waits_in, split.waiting, complete.votes, complete.voters);
      split.state = Split::State::ready;
      warp.demand.waited += last - warp.path();
      if (launch->observer != nullptr) launch->observer->barrier_passed(warp, split.waiting);
    }
  }
}

// ---- mbarriers

std::string Block::change_mbarrier(Mbarrier& barrier, const MbarrierChange& change) {
  MbarrierState state = MbarrierState::decoded(barrier.word);
  bool ends = false;
  if (std::string wrong = state.apply(change, ends); !wrong.empty()) return wrong;
  if (ends) {
    barrier.phase_before = barrier.phase;
    barrier.phase = ++launch->phases;
    if (launch->observer != nullptr) launch->observer->end_phase(*this, barrier.address);
    wake(Split::State::waits_at_mbarrier, barrier.address);
  }
  barrier.word = state.encoded();
  std::memcpy(shared.data() + barrier.address, &barrier.word, sizeof barrier.word);
  ++launch->progress;
  return {};
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

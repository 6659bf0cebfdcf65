#include "evaluator/vgpu/machine/warp.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/mbarrier.h"
#include "evaluator/vgpu/machine/observer.h"

namespace evo::vgpu {

void Warp::start(const Instruction* first) {
  splits = {};
  joins.clear();
  for (auto& of_lane : calls) of_lane.clear();
  exited = 0;
  executed = 0;
  stop = Stop::none;
  committed_groups.fill(0);
  copies.clear();
  committed_bulk_groups.fill(0);
  bulk_operations.clear();
  outside_waits = 0;
  at_cluster_barrier = 0;
  registers = launch->registers_per_thread;
  products.start(launch->kernel->product_registers.count);
  polls.at = nullptr;
  polls.in_vain = false;
  polls.idle = polls.still = 0;
  demand = polls.demand = {};
  polls.releases = 0;
  polls.waits.clear();
  polls.settled = ~std::size_t{0};
  polls.read = nullptr;
  polls.own = false;
  load(new_split(existing, first, -1));
}

void Warp::polled(const Instruction& branch, bool waits) {
  const Kernel& kernel = *launch->kernel;
  const std::span<const std::uint32_t> rows(bases[0], std::size_t{kernel.rows} * kRowWords);
  const std::span<const std::uint32_t> masks(predicates, kernel.predicates);
  const bool again = polls.at == &branch && polls.active == active;
  polls.in_vain = again && std::ranges::equal(rows, polls.rows) && std::ranges::equal(masks, polls.predicates);
  if (polls.in_vain) {
    polls.still += executed - polls.executed;
    stop = Stop::yield;
  } else {
    polls.at = &branch;
    polls.active = active;
    polls.rows.assign(rows.begin(), rows.end());
    polls.predicates.assign(masks.begin(), masks.end());
  }
  const bool forgotten = polls.in_vain || (again && waits);
  if (forgotten) polls.idle += executed - polls.executed;
  forgotten ? demand = polls.demand : polls.demand = demand;
  polls.settled = polls.waits.size();
  polls.began = polls.executed;
  polls.executed = executed;
  launch->poll = forgotten ? Poll::in_vain : Poll::round;
}

bool Warp::give_way() {
  save();
  const std::int32_t from = current;
  for (std::size_t step = 1; step < splits.size(); ++step) {
    const std::size_t i = (static_cast<std::size_t>(from) + step) % splits.size();
    if (splits[i].state != Split::State::ready) continue;
    load(static_cast<std::int32_t>(i));
    return true;
  }
  return false;
}

void Warp::skip_polls(std::uint64_t from, std::uint64_t until) {
  polls.in_vain = false;
  if (polls.began < from || until <= executed) return;
  polls.idle += until - executed;
  polls.executed = executed = until;
}

std::int32_t Warp::new_split(std::uint32_t lanes, const Instruction* at, std::int32_t join) {
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i].state != Split::State::free) continue;
    splits[i] = {};
    splits[i].state = Split::State::ready;
    splits[i].active = lanes;
    splits[i].join = join;
    splits[i].next = at;
    return static_cast<std::int32_t>(i);
  }
  return -1;  // Not reached: every split has a lane of its own.
}

std::int32_t Warp::new_join(std::uint32_t pending, const Instruction* at, std::int32_t parent) {
  std::size_t i = 0;
  while (i < joins.size() && joins[i].used) ++i;
  if (i == joins.size()) joins.emplace_back();
  joins[i] = {.used = true, .pending = pending, .parent = parent, .at = at};
  return static_cast<std::int32_t>(i);
}

void Warp::load(std::int32_t split) {
  current = split;
  next = splits[static_cast<std::size_t>(split)].next;
  active = splits[static_cast<std::size_t>(split)].active;
}

void Warp::save() {
  if (current < 0) return;
  splits[static_cast<std::size_t>(current)].next = next;
  splits[static_cast<std::size_t>(current)].active = active;
}

void Warp::arrive(std::int32_t join, std::uint32_t lanes) {
  Join& point = joins[static_cast<std::size_t>(join)];
  point.pending &= ~lanes;
  point.arrived |= lanes;
  if (point.pending != 0) return;
  new_split(point.arrived, point.onwards(), point.parent);
  point.used = false;
}

void Warp::diverge(std::uint32_t taken, const Instruction* target, const Instruction* meet) {
  Split& split = splits[static_cast<std::size_t>(current)];
  std::int32_t join = split.join;
  const bool shared = join >= 0 && joins[static_cast<std::size_t>(join)].at == meet;
  // Paths that never meet simply go on towards where this split was awaited.
  if (meet != nullptr && !shared) join = new_join(active, meet, join);
  const std::uint32_t rest = active & ~taken;
  const Instruction* fall_through = next;
  split.state = Split::State::free;
  current = -1;
  const auto go = [&](std::uint32_t lanes, const Instruction* at) {
    if (meet != nullptr && at == meet) {
      arrive(join, lanes);
    } else {
      new_split(lanes, at, join);
    }
  };
  go(rest, fall_through);
  go(taken, target);
  stop = Stop::switch_split;
}

void Warp::call(std::span<const Callees> groups, const Instruction* back) {
  Split& split = splits[static_cast<std::size_t>(current)];
  const std::int32_t join = new_join(active, back, split.join);
  joins[static_cast<std::size_t>(join)].of_call = true;
  std::uint32_t rest = active;
  split.state = Split::State::free;
  current = -1;
  for (const Callees& group : groups) {
    new_split(group.lanes, group.entry, join);
    rest &= ~group.lanes;
  }
  if (rest != 0) arrive(join, rest);
  stop = Stop::switch_split;
}

void Warp::reconverge(const Instruction* here) {
  Split& split = splits[static_cast<std::size_t>(current)];
  const std::int32_t join = split.join;
  if (join < 0 || joins[static_cast<std::size_t>(join)].at != here) return;
  split.state = Split::State::free;
  current = -1;
  arrive(join, active);
  stop = Stop::switch_split;
}

void Warp::exit_lanes(std::uint32_t lanes) {
  exited |= lanes;
  active &= ~lanes;
  Split& split = splits[static_cast<std::size_t>(current)];
  for (std::int32_t at = split.join; at >= 0;) {
    Join& join = joins[static_cast<std::size_t>(at)];
    const std::int32_t parent = join.parent;
    join.pending &= ~lanes;
    if (join.pending == 0) {
      if (join.arrived != 0) new_split(join.arrived, join.onwards(), parent);
      join.used = false;
    }
    at = parent;
  }
  if (active == 0) {
    split.state = Split::State::free;
    current = -1;
    stop = Stop::switch_split;
  }
  if (launch->observer != nullptr) launch->observer->exit(*this, lanes);
  abandon_bulk_groups(lanes);
}

bool Warp::meets(const Split& split, const Instruction& instruction, std::uint32_t required, Meet meet) const {
  if (split.state != Split::State::waits_for_lanes) return false;
  if (((split.required ^ required) & live()) != 0) return false;  // Another group of the warp.
  return split.waits_in == &instruction || (meet == Meet::anywhere && split.waits_in->execute == instruction.execute);
}

bool Warp::gather(const Instruction& instruction, std::uint32_t& mask, std::uint32_t required, Meet meet) {
  met_elsewhere.clear();
  required &= live();
  if ((required & ~mask) == 0) return true;
  std::uint32_t all = mask;
  for (const Split& other : splits) {
    if (meets(other, instruction, required, meet)) all |= other.waiting;
  }
  if ((required & ~all) == 0) {
    for (Split& other : splits) {
      if (!meets(other, instruction, required, meet)) continue;
      other.state = Split::State::ready;
      other.next = other.waits_in + 1;
      if (other.waits_in != &instruction) met_elsewhere.push_back({other.waits_in, other.waiting});
    }
    mask = all;
    return true;
  }
  Split& split = splits[static_cast<std::size_t>(current)];
  save();
  split.state = Split::State::waits_for_lanes;
  split.next = &instruction;  // Executed again should the missing lanes exit.
  split.waits_in = &instruction;
  split.waiting = mask;
  split.required = required;
  split.meet = meet;
  current = -1;
  stop = Stop::switch_split;
  return false;
}

void Warp::wait_at_barrier(const Instruction& instruction, std::uint32_t mask, std::uint32_t barrier) {
  Split& split = splits[static_cast<std::size_t>(current)];
  save();
  split.state = Split::State::waits_at_barrier;
  split.waits_in = &instruction;
  split.waiting = mask;
  split.barrier = barrier;
  current = -1;
  stop = Stop::switch_split;
}

void Warp::wait_outside(const Instruction& instruction, std::uint32_t mask, Split::State state, std::uint32_t barrier) {
  Split& split = splits[static_cast<std::size_t>(current)];
  save();
  split.state = state;
  split.next = &instruction;
  split.waits_in = &instruction;
  split.waiting = mask;
  split.barrier = barrier;
  split.expired = false;
  ++outside_waits;
  current = -1;
  stop = Stop::switch_split;
}

void Warp::wake(Split::State state, std::uint32_t barrier) {
  if (outside_waits == 0) return;
  for (Split& split : splits) {
    if (split.state != state) continue;
    if (split.barrier != barrier && split.barrier != kSeveralBarriers) continue;
    split.state = Split::State::ready;
    --outside_waits;
  }
}

bool Warp::expire_waits() {
  if (outside_waits == 0) return false;
  bool any = false;
  for (Split& split : splits) {
    if (split.state != Split::State::waits_at_mbarrier) continue;
    split.state = Split::State::ready;
    split.expired = true;
    --outside_waits;
    any = true;
  }
  return any;
}

bool Warp::take_expired() {
  return std::exchange(splits[static_cast<std::size_t>(current)].expired, false);
}

bool Warp::resume() {
  save();
  const auto pick = [&] {
    std::int32_t best = -1;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      if (splits[i].state != Split::State::ready) continue;
      // The earliest instruction first: lanes behind catch up with those ahead.
      if (best < 0 || splits[i].next < splits[static_cast<std::size_t>(best)].next) best = static_cast<std::int32_t>(i);
    }
    return best;
  };
  std::int32_t best = pick();
  if (best < 0) {
    // Those whose missing lanes have exited since can go on.
    for (Split& split : splits) {
      if (split.state != Split::State::waits_for_lanes) continue;
      std::uint32_t together = 0;
      for (const Split& other : splits) {
        if (meets(other, *split.waits_in, split.required, split.meet)) together |= other.waiting;
      }
      if ((split.required & live() & ~together) != 0) continue;
      split.state = Split::State::ready;
      break;
    }
    best = pick();
  }
  // Lanes that wait outside will usually come soon: those awaiting them stay, unless all else is stuck.
  if (best < 0 && outside_waits == 0 && release_joins()) best = pick();
  if (best < 0) return false;
  load(best);
  return true;
}

void Warp::take_turns() {
  save();
  release_joins();
  const std::size_t from = current < 0 ? 0 : static_cast<std::size_t>(current);
  for (std::size_t step = 1; step <= splits.size(); ++step) {
    const std::size_t i = (from + step) % splits.size();
    if (splits[i].state != Split::State::ready) continue;
    load(static_cast<std::int32_t>(i));
    return;
  }
}

bool Warp::release_joins() {
  bool released = false;
  for (Join& join : joins) {
    if (!join.used || join.arrived == 0 || join.at == nullptr) continue;
    if (launch->observer != nullptr) launch->observer->go_ahead(*this, join.arrived, join.pending, join.onwards());
    // They go on as a split of the parent's; the lanes still pending will not wait for them.
    new_split(join.arrived, join.onwards(), join.parent);
    join.arrived = 0;
    released = true;
  }
  return released;
}

void Warp::fail(const Instruction& instruction, const std::string& what, int lane, FindingKind kind) {
  stop = Stop::failed;
  if (launch->failure) return;
  launch->failure =
      failure_of(Verdict::crashed, fmt::format("{}: {}", describe_thread(*this, instruction, lane), what));
  launch->failure_kind = kind;
  launch->failure_line = launch->kernel->line_of(instruction);
}

std::string describe_thread(const Warp& warp, const Instruction& instruction, int lane) {
  const Kernel& kernel = *warp.launch->kernel;
  std::string where = fmt::format("kernel {}", kernel.name);
  const std::uint32_t line = kernel.line_of(instruction);
  if (line != 0) {
    where += fmt::format(", line {}", line);
  } else {
    where += fmt::format(", PTX line {}", kernel.ptx_lines[kernel.index_of(instruction)]);
  }
  const auto& index = warp.block_index;
  where += fmt::format(", block ({}, {}, {})", index[0], index[1], index[2]);
  if (lane >= 0) {
    const std::uint32_t thread = warp.thread(lane);
    const auto& size = warp.launch->block;
    where +=
        fmt::format(", thread ({}, {}, {})", thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]);
  } else {
    where += fmt::format(", warp {}", warp.index);
  }
  return fmt::format("{}: {}", where, kernel.opcode_at(kernel.index_of(instruction)));
}

// ---- Bulk groups

void Warp::perform_once(BulkOperation& operation) {
  if (std::exchange(operation.performed, true)) return;
  operation.perform();
  ++launch->progress;
}

void Warp::abandon_bulk_groups(std::uint32_t lanes) {
  const auto ends = [&](const BulkOperation& operation) { return (lanes >> operation.lane & 1u) != 0; };
  for (BulkOperation& operation : bulk_operations)
    if (ends(operation)) perform_once(operation);
  std::erase_if(bulk_operations, ends);
}

void Warp::land_bulk_groups(std::uint32_t lanes, std::uint32_t stay, bool reads_only) {
  const auto ends = [&](const BulkOperation& operation) {
    const auto lane = static_cast<std::size_t>(operation.lane);
    return (lanes >> lane & 1u) != 0 &&
           std::int64_t{operation.group} < std::int64_t{committed_bulk_groups[lane]} - std::int64_t{stay};
  };
  for (BulkOperation& operation : bulk_operations) {
    if (!ends(operation)) continue;
    perform_once(operation);
    if (operation.settle && !reads_only) operation.settle();
  }
  std::erase_if(bulk_operations,
                [&](const BulkOperation& operation) { return ends(operation) && !(operation.settle && reads_only); });
}

}  // namespace evo::vgpu

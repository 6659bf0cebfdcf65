// Long because: issue, memory, barriers and waits all step the state of one simulated SM.
#include "evaluator/vgpu/cost/sm_simulation.h"

#include <algorithm>
#include <queue>

#include "engine/device/launch_rules.h"
#include "evaluator/vgpu/cost/sm_demands.h"
#include "evaluator/vgpu/cost/sm_state.h"

namespace evo::vgpu {
namespace sm {
namespace {

/// Simulated events of one launch: about a tenth of a second.
constexpr std::uint64_t kEventBudget = 1'500'000;
/// How many clocks of work may queue in front of the shared-memory pipe, and of MUFU, before issue stalls.
constexpr double kMemoryQueueClocks = 32;
constexpr double kSpecialQueueClocks = 8;

class Simulation {
 public:
  Simulation(const DeviceModel& model, const RecordedTrace& trace, const SmWork& work)
      : model_(model), trace_(trace), work_(work), demands_(model) {}

  SmResult run(std::uint64_t blocks) {
    blocks_left_ = blocks;
    result_.instruction_stalls.resize(trace_.instructions.size());
    const int resident = static_cast<int>(std::min<std::uint64_t>(blocks, static_cast<std::uint64_t>(work_.resident)));
    slots_.resize(static_cast<std::size_t>(resident));
    for (int slot = 0; slot < resident; ++slot) start_block(slot, slot * model_.block_launch_clocks);
    while (!turns_.empty()) {
      const Turn turn = turns_.top();
      turns_.pop();
      step(turn.warp, turn.time);
    }
    return result_;
  }

 private:
  Slot& slot_of(const Warp& warp) { return slots_[static_cast<std::size_t>(warp.slot)]; }

  void start_block(int slot, double time) {
    const RecordedBlock& block = *work_.traces[started_++ % work_.traces.size()];
    --blocks_left_;
    Slot& to = slots_[static_cast<std::size_t>(slot)];
    if (to.warps < static_cast<int>(block.warps)) {  // The first block of the slot: all blocks have as many warps.
      to.first_warp = static_cast<int>(warps_.size());
      to.warps = static_cast<int>(block.warps);
      warps_.resize(warps_.size() + block.warps);
    }
    to.running = static_cast<int>(block.warps);
    to.barriers = {};
    to.block = &block;
    to.phases.assign(block.phases.size(), {});
    for (std::size_t i = 0; i < block.phases.size(); ++i) to.phases[i].missing = block.phases[i].contributions;
    for (int w = 0; w < static_cast<int>(block.warps); ++w) {
      const int index = to.first_warp + w;
      Warp& warp = warps_[static_cast<std::size_t>(index)];
      warp = Warp{};
      warp.events = &block.events[static_cast<std::size_t>(w)];
      warp.slot = slot;
      warp.partition = index % kSubPartitions;
      warp.next = warp.last = time;
      warp.registers.assign(trace_.registers, Register{time, Stall::dependence, false});
      turns_.push({time, index});
    }
  }

  void end_warp(Warp& warp, double time) {
    result_.clocks = std::max(result_.clocks, time);
    note(warp, {Mark::Kind::end, true, 0, 0, 0, time});
    Slot& slot = slot_of(warp);
    if (--slot.running == 0 && blocks_left_ > 0) start_block(warp.slot, time + model_.block_launch_clocks);
  }

  /// Issues a warp's next instruction at `time`, or comes back when it can issue.
  void step(int index, double time) {
    Warp& warp = warps_[static_cast<std::size_t>(index)];
    skip_nothings(warp);
    if (warp.at == warp.events->size()) return end_warp(warp, std::max(time, warp.next));
    const Event& event = (*warp.events)[warp.at];
    const RecordedInstruction& instruction = trace_.instructions[event.instruction];
    Stall why = warp.waited == Stall::none ? Stall::dependence : warp.waited;
    double start = std::max(time, warp.next);
    const auto wait_until = [&](double then, Stall cause) {
      if (then <= start) return;
      start = then;
      why = cause;
    };
    for (std::uint16_t r : needed_at_issue(instruction)) wait_until(warp.registers[r].ready, warp.registers[r].cause);
    if (waits_for_groups(instruction.op_class)) {
      const AsyncGroups& groups = *groups_of(warp, instruction.op_class);
      wait_until(groups.end_of_all_but(instruction.pending_groups), groups.cause);
    }
    if (const std::uint32_t number = phase_awaited(warp, event, instruction)) {
      Slot& slot = slot_of(warp);
      PhaseState& phase = slot.phases[number];
      if (phase.missing > 0) return phase.waiting.push_back(index);  // The last contribution wakes it.
      wait_until(phase.over + demands_[instruction.op_class].latency,
                 slot.block->phases[number].copies ? Stall::async_copy : Stall::barrier);
    }
    wait_until(free_at(warp, event, instruction), Stall::pipe_busy);
    if (start > time) {  // Other warps may issue before.
      warp.waited = why;
      turns_.push({start, index});
      return;
    }
    account(warp, event.instruction, start, why);
    issue(index, warp, event, instruction, start);
  }

  void account(Warp& warp, std::uint32_t instruction, double start, Stall why) {
    const double waited = start - warp.last;
    if (waited > 0) {
      const auto kind = static_cast<std::size_t>(waited > 1 ? why : Stall::none);
      result_.stalls[kind] += waited;
      result_.warp_clocks += waited;
      result_.instruction_stalls[instruction][kind] += waited;
    }
    warp.last = start;
    warp.waited = Stall::none;
  }

  /// Hopper's 8-bit floats need the accumulator only for the addition at the end.
  bool through_f16(const RecordedInstruction& instruction) const {
    return instruction.op_class == OpClass::matrix_product && is_fp8(instruction.mma.a) && model_.sm >= 90;
  }

  std::span<const std::uint16_t> needed_at_issue(const RecordedInstruction& instruction) const {
    const std::span<const std::uint16_t> all = instruction.reads;
    if (!through_f16(instruction)) return all;
    const MmaRegisters counts = mma_registers(instruction.mma);
    return all.first(std::min(all.size(), static_cast<std::size_t>(counts.a + counts.b)));
  }

  /// Instructions that ptxas removes take no time: results are ready when the operands are.
  void skip_nothings(Warp& warp) {
    for (; warp.at < warp.events->size(); ++warp.at) {
      const RecordedInstruction& instruction = trace_.instructions[(*warp.events)[warp.at].instruction];
      if (instruction.op_class != OpClass::nothing) return;
      Register latest;
      for (std::uint16_t r : instruction.reads)
        if (warp.registers[r].ready >= latest.ready) latest = warp.registers[r];
      for (std::uint16_t r : instruction.writes) warp.registers[r] = latest;
    }
  }

  /// The groups that an instruction commits or waits for, if any.
  AsyncGroups* groups_of(Warp& warp, OpClass op_class) const {
    switch (op_class) {
      case OpClass::async_commit:
      case OpClass::async_wait:
        return &warp.copies;
      case OpClass::bulk_commit:
      case OpClass::bulk_wait:
        return &warp.bulk_copies;
      case OpClass::warpgroup_commit:
      case OpClass::warpgroup_wait:
        return &warp.products;
      default:
        return nullptr;
    }
  }

  static bool waits_for_groups(OpClass op_class) {
    return op_class == OpClass::async_wait || op_class == OpClass::bulk_wait || op_class == OpClass::warpgroup_wait;
  }

  const RecordedAction* action_of(const Warp& warp, const Event& event) {
    if (event.action == 0) return nullptr;
    return &slot_of(warp).block->actions[event.action - 1];
  }

  /// The phase of an mbarrier, or of the cluster's barrier, that the instruction waits for; 0: none.
  std::uint32_t phase_awaited(const Warp& warp, const Event& event, const RecordedInstruction& instruction) {
    if (instruction.op_class != OpClass::mbarrier_wait && instruction.op_class != OpClass::cluster_wait) return 0;
    const RecordedAction* action = action_of(warp, event);
    return action == nullptr ? 0 : action->phase;
  }

  void contribute(Slot& slot, std::uint32_t number, double time) {
    if (number == 0) return;
    PhaseState& phase = slot.phases[number];
    phase.over = std::max(phase.over, time);
    if (phase.missing > 0 && --phase.missing > 0) return;
    for (const int waiting : phase.waiting)
      turns_.push({std::max(warps_[static_cast<std::size_t>(waiting)].next, phase.over), waiting});
    phase.waiting.clear();
  }

  /// When a copy ends. The copy engine serves one request after another, at the rate of the path to L2.
  double copied(const RecordedAction& action, double start) {
    const Latencies& latencies = model_.latencies;
    const double bytes = action.bytes;
    if (!action.global)
      return occupy(Pipe::shared_memory, 0, start, bytes / model_.rates.shared_bytes) + latencies.bulk_copy;
    const double clocks = bytes / model_.rates.l1_bytes;
    return occupy(Pipe::global_memory, 0, start, clocks) + clocks + latencies.bulk_copy +
           (work_.from_memory ? latencies.memory : latencies.l2);
  }

  double& pipe(Pipe which, int partition) {
    return free_[static_cast<std::size_t>(which)][static_cast<std::size_t>(partition)];
  }

  /// When the scheduler and the pipe can take the instruction.
  double free_at(const Warp& warp, const Event& event, const RecordedInstruction& instruction) {
    double free = pipe(Pipe::issue, warp.partition);
    const Demand& demand = demands_[instruction.op_class];
    if (instruction.op_class == OpClass::matrix_product) {
      free = std::max(free, pipe(Pipe::tensor_core, warp.partition));
      if (through_f16(instruction)) free = std::max(free, pipe(Pipe::convert, warp.partition));
    } else if (accesses_memory(instruction.op_class) || instruction.op_class == OpClass::shuffle) {
      free = std::max(free, pipe(Pipe::shared_memory, 0) - kMemoryQueueClocks);
      if (event.l2_sectors > 0 || event.space == TracedSpace::remote_shared)
        free = std::max(free, pipe(Pipe::global_memory, 0) - 8 * kMemoryQueueClocks);
    } else if (demand.pipe != Pipe::issue) {
      const double queue = demand.pipe == Pipe::special ? kSpecialQueueClocks : 0;
      free = std::max(free, pipe(demand.pipe, warp.partition) - queue);
    }
    return free;
  }

  /// Occupies a pipe from `start` on; returns when it began.
  double occupy(Pipe which, int partition, double start, double clocks) {
    double& free = pipe(which, partition);
    const double begin = std::max(free, start);
    free = begin + clocks;
    const bool shared = which == Pipe::shared_memory || which == Pipe::global_memory;
    result_.busy[static_cast<std::size_t>(which)] += clocks / (shared ? 1 : kSubPartitions);
    return begin;
  }

  void occupy_issue(Warp& warp, double start, double slots) {
    occupy(Pipe::issue, warp.partition, start, slots);
    result_.instructions += slots;
    warp.next = start + slots;
  }

  void write(Warp& warp, const RecordedInstruction& instruction, double ready, Stall cause) {
    for (std::uint16_t r : instruction.writes) warp.registers[r] = {ready, cause, false};
  }

  void note(const Warp& warp, Mark mark) {
    if (work_.marks == nullptr || started_ > 1) return;
    mark.warp = static_cast<int>(&warp - warps_.data());
    work_.marks->push_back(mark);
  }

  /// What concerns other blocks, and what passes a delay on to other warps.
  void note(const Warp& warp, const Event& event, const RecordedInstruction& instruction, double start) {
    if (instruction.op_class == OpClass::barrier && event.expected_warps > 0)
      note(warp, {Mark::Kind::barrier, event.waits, event.barrier, event.expected_warps, 0, start});
    if (!instruction.strong || event.space != TracedSpace::global) return;
    if (instruction.polls && event.waits) note(warp, {Mark::Kind::wait, true, 0, 0, 0, start});
    if (instruction.op_class != OpClass::load) note(warp, {Mark::Kind::release, true, 0, 0, 0, start});
  }

  void issue(int index, Warp& warp, const Event& event, const RecordedInstruction& instruction, double start) {
    ++warp.at;
    note(warp, event, instruction, start);
    switch (instruction.op_class) {
      case OpClass::matrix_product:
        multiply(warp, instruction, start);
        break;
      case OpClass::warpgroup_product:
        multiply_asynchronously(warp, instruction, start);
        break;
      case OpClass::tensor_product:
        multiply_in_tensor_memory(warp, event, instruction, start);
        break;
      case OpClass::tensor_load:
      case OpClass::tensor_store:
        move_in_tensor_memory(warp, instruction, start);
        break;
      case OpClass::bulk_copy:
        copy(warp, event, start);
        break;
      case OpClass::fence:
        occupy_issue(warp, start, 1);
        warp.next = start + model_.latencies.fence;
        break;
      case OpClass::branch:
        occupy_issue(warp, start, instruction.count);
        warp.next = start + model_.latencies.branch * event.paths;
        break;
      case OpClass::sleep:
        occupy_issue(warp, start, 1);
        warp.next = start + model_.latencies.l2;
        break;
      case OpClass::barrier:
        occupy_issue(warp, start, 1);
        if (event.expected_warps > 0 && !arrive(index, warp, event, start)) return;
        break;
      case OpClass::async_commit:
      case OpClass::bulk_commit:
      case OpClass::warpgroup_commit:
      case OpClass::async_wait:
      case OpClass::bulk_wait:
      case OpClass::warpgroup_wait:
      case OpClass::mbarrier:
      case OpClass::mbarrier_wait:
      case OpClass::tensor_commit:
      case OpClass::cluster_arrive:
      case OpClass::cluster_wait:
      case OpClass::grid_wait:
        occupy_issue(warp, start, 1);
        synchronise(warp, event, instruction, start);
        break;
      default:
        if (accesses_memory(instruction.op_class))
          access(warp, event, instruction, start);
        else
          compute(warp, instruction, start);
    }
    turns_.push({warp.next, index});
  }

  /// What an instruction that commits, arrives, or waited before it was issued, does to others.
  void synchronise(Warp& warp, const Event& event, const RecordedInstruction& instruction, double start) {
    switch (instruction.op_class) {
      case OpClass::async_commit:
      case OpClass::bulk_commit:
      case OpClass::warpgroup_commit:
        groups_of(warp, instruction.op_class)->commit();
        break;
      case OpClass::async_wait:
      case OpClass::bulk_wait:
      case OpClass::warpgroup_wait:
        groups_of(warp, instruction.op_class)->forget_all_but(instruction.pending_groups);
        break;
      case OpClass::mbarrier:
      case OpClass::mbarrier_wait:
        occupy(Pipe::shared_memory, 0, start, 1);
        write(warp, instruction, start + demands_[instruction.op_class].latency, Stall::shared_memory);
        if (const RecordedAction* action = action_of(warp, event);
            action != nullptr && action->kind == AsyncAction::Kind::arrive)
          contribute(slot_of(warp), action->phase, std::max(start, warp.copies.open));
        break;
      case OpClass::tensor_commit:
        if (const RecordedAction* action = action_of(warp, event); action != nullptr)
          contribute(slot_of(warp), action->phase, std::max(start, warp.product_end + model_.latencies.wgmma));
        break;
      case OpClass::cluster_arrive:
        if (const RecordedAction* action = action_of(warp, event); action != nullptr)
          contribute(slot_of(warp), action->phase, start);
        break;
      case OpClass::grid_wait:
        if (!result_.prologue || start < *result_.prologue) result_.prologue = start;
        break;
      default:
        break;
    }
  }

  void copy(Warp& warp, const Event& event, double start) {
    occupy_issue(warp, start, 1);
    const RecordedAction* action = action_of(warp, event);
    if (action == nullptr) return;
    const double done = copied(*action, start);
    contribute(slot_of(warp), action->phase, done);
    if (action->phase == 0) warp.bulk_copies.open = std::max(warp.bulk_copies.open, done);
  }

  void compute(Warp& warp, const RecordedInstruction& instruction, double start) {
    const Demand& demand = demands_[instruction.op_class];
    occupy_issue(warp, start, instruction.count);
    double begin = start;
    if (demand.pipe != Pipe::issue) {
      const int partition = demand.pipe == Pipe::shared_memory ? 0 : warp.partition;
      begin = occupy(demand.pipe, partition, start, demand.clocks * instruction.count);
    }
    // Several instructions are a chain: each waits for the preceding one.
    const double chain = instruction.count > 2 ? demand.latency * (instruction.count - 1) : instruction.count - 1;
    write(warp, instruction, begin + demand.latency + chain, demand.cause);
  }

  void multiply(Warp& warp, const RecordedInstruction& instruction, double start) {
    const MmaForm& form = instruction.mma;
    if (through_f16(instruction)) return multiply_through_f16(warp, instruction, start);
    const double clocks = product_clocks(model_.mma, form) * kSubPartitions;
    occupy_issue(warp, start, instruction.count);
    const double begin = occupy(Pipe::tensor_core, warp.partition, start, clocks);
    write(warp, instruction, begin + model_.latencies.mma + clocks, Stall::tensor_core);
  }

  /// A warp's quarter of a warpgroup's product. The tensor core of its sub-partition takes one product after another.
  void multiply_asynchronously(Warp& warp, const RecordedInstruction& instruction, double start) {
    const MmaForm& form = instruction.mma;
    const double clocks = product_clocks(model_.wgmma, form);
    occupy_issue(warp, start, 1);
    const double earliest = std::max(start, warp.product_end + model_.latencies.wgmma_gap);
    warp.product_end = occupy(Pipe::tensor_core, warp.partition, earliest, clocks) + clocks;
    // Operands in shared memory pass its banks. The warps of the group share the reads of B.
    const int shared_rows = form.n + (instruction.first_in_registers ? 0 : form.m);
    const double operands = shared_rows * form.k * width_of(form.a) / 8.0 / model_.rates.shared_bytes / kSubPartitions;
    warp.product_end = std::max(warp.product_end, occupy(Pipe::shared_memory, 0, start, operands) + operands);
    warp.products.open = warp.product_end + model_.latencies.wgmma;
  }

  /// A product that one thread issues for the whole SM: all tensor cores take part.
  void multiply_in_tensor_memory(Warp& warp, const Event& event, const RecordedInstruction& instruction, double start) {
    occupy_issue(warp, start, 1);
    const RecordedAction* action = action_of(warp, event);
    if (action == nullptr) return;
    const double clocks = tensor_product_clocks(model_.tcgen05, instruction.mma, action->flops);
    for (int partition = 0; partition < kSubPartitions; ++partition)
      warp.product_end = occupy(Pipe::tensor_core, partition, start, clocks) + clocks;
    const double operands = action->bytes / model_.rates.shared_bytes;
    warp.product_end = std::max(warp.product_end, occupy(Pipe::shared_memory, 0, start, operands) + operands);
  }

  /// A clock for each register, and the latency of shared memory: neither is published.
  void move_in_tensor_memory(Warp& warp, const RecordedInstruction& instruction, double start) {
    const auto registers = static_cast<double>(std::max(instruction.writes.size(), instruction.reads.size()));
    occupy_issue(warp, start, registers);
    write(warp, instruction, start + registers + model_.latencies.shared, Stall::shared_memory);
  }

  /// Operands that are not yet f16 are widened with two conversions for each register. Then the tensor core multiplies
  /// twice, and ordinary additions add C.
  void multiply_through_f16(Warp& warp, const RecordedInstruction& instruction, double start) {
    const MmaForm& form = instruction.mma;
    int conversions = 0;
    for (std::uint16_t r : needed_at_issue(instruction)) {
      if (warp.registers[r].widened) continue;
      warp.registers[r].widened = true;
      conversions += 2;
    }
    MmaForm half_of_it = form;
    half_of_it.a = half_of_it.b = MmaType::f16;
    half_of_it.k /= 2;
    const double clocks = product_clocks(model_.mma, half_of_it) * kSubPartitions;
    const int additions = mma_registers(form).c;
    double operands = start;
    if (conversions > 0) {
      const double each = 32.0 * kSubPartitions / model_.rates.convert_from_fp8;
      operands = occupy(Pipe::convert, warp.partition, start, conversions * each) + conversions * each +
                 model_.latencies.convert_pack;
    }
    occupy_issue(warp, start, conversions + 2 + additions);
    const double begin = occupy(Pipe::tensor_core, warp.partition, operands, 2 * clocks);
    occupy(Pipe::float_fma, warp.partition, begin, additions * 32.0 * kSubPartitions / model_.rates.float_fma);
    double ready = begin + 2 * (model_.latencies.mma + clocks);
    for (std::uint16_t r : instruction.reads) ready = std::max(ready, warp.registers[r].ready);
    write(warp, instruction, ready + model_.latencies.fma, Stall::tensor_core);
  }

  void access(Warp& warp, const Event& event, const RecordedInstruction& instruction, double start) {
    occupy_issue(warp, start, instruction.count);
    const Latencies& latencies = model_.latencies;
    if (event.space == TracedSpace::remote_shared) {
      const double clocks = event.wavefronts * model_.rates.shared_bytes / model_.rates.remote_shared_bytes;
      const double begin = occupy(Pipe::global_memory, 0, start, clocks);
      write(warp, instruction, begin + clocks + latencies.remote_shared, Stall::shared_memory);
      return;
    }
    if (event.space == TracedSpace::parameter || (event.space == TracedSpace::constant && event.l2_sectors == 0)) {
      write(warp, instruction, start + latencies.constant, Stall::dependence);
      return;
    }
    const bool shared = event.space == TracedSpace::shared;
    const double wavefronts =
        std::max<double>(event.wavefronts, shared ? 1 : (event.l1_sectors + event.l2_sectors + 3) / 4);
    const double begin = occupy(Pipe::shared_memory, 0, start, wavefronts);
    double ready = begin + wavefronts - 1;
    Stall cause = Stall::shared_memory;
    if (shared) {
      ready += instruction.op_class == OpClass::atomic ? 2 * latencies.shared : latencies.shared;
    } else {
      cause = Stall::global_memory;
      double arrival = begin;
      if (event.l2_sectors > 0)
        arrival = occupy(Pipe::global_memory, 0, begin, event.l2_sectors * 32.0 / model_.rates.l1_bytes) +
                  event.l2_sectors * 32.0 / model_.rates.l1_bytes;
      const double away = work_.from_memory ? latencies.memory : latencies.l2;
      if (instruction.op_class == OpClass::atomic)
        ready = arrival + latencies.atomic;
      else
        ready = event.l2_sectors > 0 ? arrival + away : begin + latencies.l1;
    }
    if (instruction.op_class == OpClass::async_copy)
      warp.copies.open = std::max(warp.copies.open, ready);
    else
      write(warp, instruction, ready, cause);
  }

  /// False when the warp has to wait. The last arrival wakes it.
  bool arrive(int index, Warp& warp, const Event& event, double start) {
    Slot& slot = slot_of(warp);
    BarrierState& barrier = slot.barriers[event.barrier % slot.barriers.size()];
    barrier.last_arrival = std::max(barrier.last_arrival, start);
    ++barrier.arrived;
    if (event.waits) barrier.waiting.push_back(index);
    if (barrier.arrived < event.expected_warps) return !event.waits;
    const double release = barrier.last_arrival + model_.latencies.barrier;
    for (int waiting : barrier.waiting) {
      Warp& other = warps_[static_cast<std::size_t>(waiting)];
      other.next = release;
      other.waited = Stall::barrier;
      if (waiting != index) turns_.push({release, waiting});
    }
    barrier = BarrierState{};
    return true;
  }

  const DeviceModel& model_;
  const RecordedTrace& trace_;
  const SmWork& work_;
  const Demands demands_;
  std::vector<Slot> slots_;
  std::vector<Warp> warps_;
  std::array<std::array<double, kSubPartitions>, kPipes> free_{};
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::uint64_t blocks_left_ = 0;
  std::size_t started_ = 0;
  SmResult result_;
};

/// Instructions of the first `blocks` of the work; 1 for a block that issues none.
double issued_by(const SmWork& work, std::uint64_t blocks) {
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < blocks; ++i)
    all += std::max<std::uint64_t>(work.traces[i % work.traces.size()]->issued, 1);
  return static_cast<double>(all);
}

}  // namespace
}  // namespace sm

SmResult simulate_sm(const DeviceModel& model, const RecordedTrace& trace, const SmWork& work) {
  std::uint64_t all_kept = 0;
  for (const RecordedBlock* block : work.traces) all_kept += block->kept;
  const auto kept = static_cast<double>(all_kept), per_block = kept / static_cast<double>(work.traces.size());
  // At least as many blocks as are resident, and all waves while they are cheap: then the tail of the last is exact.
  const auto resident = std::min<std::uint64_t>(work.blocks, static_cast<std::uint64_t>(work.resident));
  const auto affordable = static_cast<std::uint64_t>(static_cast<double>(sm::kEventBudget) / std::max(per_block, 1.0));
  const std::uint64_t blocks = std::clamp(affordable / resident * resident, resident, std::max(work.blocks, resident));
  const std::uint64_t simulated = std::min(work.blocks, blocks);
  SmResult result = sm::Simulation(model, trace, work).run(simulated);
  const double more = sm::issued_by(work, work.blocks) / sm::issued_by(work, simulated) *
                      (kept == 0 ? 1.0 : sm::issued_by(work, work.traces.size()) / kept);
  result.clocks *= more;
  result.instructions *= more;
  result.warp_clocks *= more;
  for (double& busy : result.busy) busy *= more;
  for (double& stall : result.stalls) stall *= more;
  return result;
}

}  // namespace evo::vgpu

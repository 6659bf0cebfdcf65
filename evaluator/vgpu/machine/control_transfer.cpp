#include "evaluator/vgpu/machine/control_transfer.h"

#include <bit>
#include <cstring>

#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/machine/observer.h"

namespace evo::vgpu {
namespace {

/// One lane's local memory, its frame and the stack of its calls.
class Lane {
 public:
  Lane(Warp& warp, int lane) : warp_(warp), kernel_(*warp.launch->kernel), lane_(lane) {}

  std::uint32_t& frame() { return warp_.own(kernel_.frame_place)[lane_]; }
  std::uint32_t& stack() { return warp_.own(kernel_.stack_place)[lane_]; }

  bool has_room(const Procedure& callee) { return stack() + callee.frame_bytes <= kernel_.local_bytes; }

  /// Keeps what the callee may change and gives it a fresh frame.
  void enter(const Procedure& callee, std::uint32_t procedure, std::uint32_t call) {
    std::vector<std::uint32_t>& kept = warp_.calls[static_cast<std::size_t>(lane_)];
    for (const Procedure::Saved& saved : callee.registers) {
      const std::uint32_t* row = warp_.own(saved.place);
      if (saved.wide) kept.push_back(row[2 * lane_]);
      kept.push_back(saved.wide ? row[2 * lane_ + 1] : row[lane_]);
    }
    for (const std::uint32_t p : callee.predicates) kept.push_back(warp_.predicates[p] >> lane_ & 1u);
    kept.insert(kept.end(), {frame(), stack(), procedure, call});
    frame() = stack();
    stack() += callee.frame_bytes;
    if (Observer* observer = warp_.launch->observer)
      observer->local_defined(warp_, lane_, frame(), callee.frame_bytes, false);
  }

  std::uint32_t call() const { return warp_.calls[static_cast<std::size_t>(lane_)].back(); }
  std::uint32_t procedure() const { return warp_.calls[static_cast<std::size_t>(lane_)].end()[-2]; }

  void leave() {
    std::vector<std::uint32_t>& kept = warp_.calls[static_cast<std::size_t>(lane_)];
    const auto take = [&] {
      const std::uint32_t word = kept.back();
      kept.pop_back();
      return word;
    };
    take();
    const Procedure& callee = kernel_.procedures[take()];
    stack() = take();
    frame() = take();
    for (std::size_t i = callee.predicates.size(); i-- > 0;) {
      std::uint32_t& mask = warp_.predicates[callee.predicates[i]];
      mask = (mask & ~(1u << lane_)) | take() << lane_;
    }
    for (std::size_t i = callee.registers.size(); i-- > 0;) {
      const Procedure::Saved& saved = callee.registers[i];
      std::uint32_t* row = warp_.own(saved.place);
      (saved.wide ? row[2 * lane_ + 1] : row[lane_]) = take();
      if (saved.wide) row[2 * lane_] = take();
    }
  }

  /// Copies bytes of local memory.
  void copy(std::uint32_t to, std::uint32_t from, std::uint32_t bytes) {
    std::byte* local = warp_.local + std::size_t{kernel_.local_bytes} * static_cast<std::size_t>(lane_);
    std::memmove(local + to, local + from, bytes);
    if (Observer* observer = warp_.launch->observer) observer->local_copied(warp_, lane_, to, from, bytes);
  }

 private:
  Warp& warp_;
  const Kernel& kernel_;
  int lane_;
};

const CallSite& site_of(const Warp& warp, const Instruction& in) {
  return warp.launch->kernel->call_sites[static_cast<std::size_t>(in.immediate)];
}

const Instruction* entry_of(const Warp& warp, std::uint32_t procedure) {
  const Kernel& kernel = *warp.launch->kernel;
  return kernel.code.data() + kernel.procedures[procedure].entry;
}

/// Gives the lanes their frames and arguments. False when the warp has failed.
bool enter(Warp& warp, const Instruction& in, std::uint32_t lanes, std::uint32_t procedure) {
  const Kernel& kernel = *warp.launch->kernel;
  const Procedure& callee = kernel.procedures[procedure];
  const CallSite& site = site_of(warp, in);
  for (const int number : lanes_of(lanes)) {
    Lane lane(warp, number);
    if (!lane.has_room(callee)) {
      warp.fail(
          in,
          "the call of " + callee.name + " finds the thread's stack of " + std::to_string(kStackBytes) + " bytes full",
          number);
      return false;
    }
    const std::uint32_t base = site.framed ? lane.frame() : 0;
    lane.enter(callee, procedure, kernel.index_of(in));
    for (std::size_t i = 0; i < callee.parameters.size(); ++i)
      lane.copy(lane.frame() + callee.parameters[i].offset, base + site.arguments[i].offset,
                callee.parameters[i].bytes);
  }
  return true;
}

/// Whether the arguments are those that the callee has.
bool fits(const std::vector<FramePart>& given, const std::vector<FramePart>& wanted) {
  if (given.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].bytes < wanted[i].bytes) return false;
  return true;
}

/// The procedure at an address. kNowhere when no function with these parameters is there: then the warp has failed.
std::uint32_t procedure_at(Warp& warp, const Instruction& in, int lane, std::uint64_t address) {
  const Kernel& kernel = *warp.launch->kernel;
  const std::uint64_t number = (address - kCodeBegin) / kCodeStep - 1;
  const bool exists = (address - kCodeBegin) % kCodeStep == 0 && number < kernel.procedure_of_function.size();
  const std::uint32_t procedure = exists ? kernel.procedure_of_function[number] : kNowhere;
  const CallSite& site = site_of(warp, in);
  if (procedure == kNowhere) {
    warp.fail(in, "the pointer leads to no function of the module", lane);
  } else if (!fits(site.arguments, kernel.procedures[procedure].parameters) ||
             !fits(site.results, kernel.procedures[procedure].results)) {
    warp.fail(in, "the pointer leads to " + kernel.procedures[procedure].name + ", which has other parameters", lane);
    return kNowhere;
  }
  return procedure;
}

void poll_again(Warp& warp, const Instruction& in, std::uint32_t mask, bool waits) {
  const Instruction* code = warp.launch->kernel->code.data();
  if (mask == warp.active) {
    warp.next = code + in.aux0;
    return warp.polled(in, waits);
  }
  warp.launch->paths = 2;
  warp.diverge(mask, code + in.aux0, in.aux1 == kNowhere ? nullptr : code + in.aux1);
}

}  // namespace

void execute_reconverge(Warp& warp, const Instruction& in, std::uint32_t) {
  warp.reconverge(&in);
}

void execute_exit(Warp& warp, const Instruction&, std::uint32_t mask) {
  warp.exit_lanes(mask);
  warp.block->lanes_exited(static_cast<std::uint32_t>(std::popcount(mask)));
  warp.block->cluster->release_if_complete();
}

void execute_polling_branch(Warp& warp, const Instruction& in, std::uint32_t mask) {
  poll_again(warp, in, mask, false);
}

void execute_waiting_branch(Warp& warp, const Instruction& in, std::uint32_t mask) {
  poll_again(warp, in, mask, true);
}

void execute_call(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint32_t procedure = site_of(warp, in).procedure;
  if (!enter(warp, in, mask, procedure)) return;
  const Callees callees{mask, entry_of(warp, procedure)};
  warp.call({&callees, 1}, &in + 1);
}

void execute_call_through_pointer(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint64_t* address = source_row<std::uint64_t>(warp, in.op[0]);
  std::uint64_t of_lane[32];
  std::copy(address, address + 32, of_lane);  // The callee's rows may be the same ones.
  std::vector<Callees> callees;
  for (std::uint32_t left = mask; left != 0;) {
    const int first = std::countr_zero(left);
    const std::uint32_t same = lanes_with(of_lane, of_lane[first]) & left;
    const std::uint32_t procedure = procedure_at(warp, in, first, of_lane[first]);
    if (procedure == kNowhere || !enter(warp, in, same, procedure)) return;
    callees.push_back({same, entry_of(warp, procedure)});
    left &= ~same;
  }
  warp.call(callees, &in + 1);
}

void execute_return(Warp& warp, const Instruction& in, std::uint32_t mask) {
  warp.polls.at = nullptr;
  const Kernel& kernel = *warp.launch->kernel;
  // Lanes that were called from one place at a time. Those that were called from other places come here again.
  const std::uint32_t call = Lane(warp, std::countr_zero(mask)).call();
  std::uint32_t same = 0;
  for (const int lane : lanes_of(mask)) same |= static_cast<std::uint32_t>(Lane(warp, lane).call() == call) << lane;
  const CallSite& site = site_of(warp, kernel.code[call]);
  for (const int number : lanes_of(same)) {
    Lane lane(warp, number);
    const Procedure& callee = kernel.procedures[lane.procedure()];
    const std::uint32_t frame = lane.frame();
    lane.leave();
    const std::uint32_t base = site.framed ? lane.frame() : 0;
    for (std::size_t i = 0; i < callee.results.size(); ++i)
      lane.copy(base + site.results[i].offset, frame + callee.results[i].offset, callee.results[i].bytes);
  }
  const Instruction* back = kernel.code.data() + call + 1;
  if (same == warp.active) {
    warp.next = back;
    return;
  }
  if (same != mask) warp.next = &in;
  warp.launch->paths = 2;
  warp.diverge(same, back, nullptr);
}

}  // namespace evo::vgpu

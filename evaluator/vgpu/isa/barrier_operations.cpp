#include <bit>
#include <string>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/isa/warp_operations.h"
#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/observer.h"

// PTX ISA 9.0, 9.7.13.1 "bar, barrier" and 9.7.13.2 "bar.warp.sync".
namespace evo::vgpu {
namespace {

using ptx::Type;

using Kind = BarrierKind;

/// op: result, barrier number, thread count (0: the whole block), predicate. aux1: the warp must be together.
void execute_barrier(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const int lane = std::countr_zero(mask);
  const std::uint32_t id = warp.row(in.op[1])[lane];
  const std::uint32_t threads = warp.row(in.op[2])[lane];
  const auto kind = static_cast<Kind>(in.aux0);
  if (id >= kBarriers) return warp.fail(in, "barrier " + std::to_string(id) + " does not exist: there are 16", lane);
  if (threads % 32 != 0)
    return warp.fail(in, "the thread count " + std::to_string(threads) + " is no multiple of 32", lane);
  const bool reduces = kind == Kind::popc || kind == Kind::logical_and || kind == Kind::logical_or;
  const std::uint32_t votes =
      reduces ? static_cast<std::uint32_t>(std::popcount(get_predicate(warp, in.op[3]) & mask)) : 0;
  Block& block = *warp.block;
  if (in.aux1 != 0 && warp.launch->observer != nullptr) warp.launch->observer->arrive_aligned(warp, in, id, mask);
  const bool waits = kind != Kind::arrive;
  if (waits) warp.wait_at_barrier(in, mask, id);
  block.arrive(warp, id, threads, mask, votes, waits);
}

/// op: member mask.
void execute_warp_barrier(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[0]);
  while (groups.next(mask)) {
    if (warp.launch->observer != nullptr) warp.launch->observer->warp_barrier(warp, mask);
  }
}

void decode_warp_barrier(Form& form) {
  if (!form.take("sync")) form.unsupported();
  form.source(0, Type::b32);
  form.emit(execute_warp_barrier, OpClass::warp_sync);
}

void decode_barrier(Form& form) {
  if (form.take("warp")) return decode_warp_barrier(form);
  if (form.take("cluster")) return decode_cluster_barrier(form);
  form.take("cta");
  const bool together = form.take("aligned") || form.name() == "bar";
  const std::string_view action = form.take_one_of({"sync", "arrive", "red"});
  Kind kind = action == "arrive" ? Kind::arrive : Kind::sync;
  std::size_t at = 0;
  if (action == "red") {
    const std::string_view op = form.take_one_of({"popc", "and", "or"});
    form.type();
    kind = op == "popc" ? Kind::popc : (op == "and" ? Kind::logical_and : Kind::logical_or);
    kind == Kind::popc ? form.destination(0, Type::u32) : form.predicate_destination(form.operand(0));
    at = 1;
  } else {
    form.raw(0);
  }
  if (action.empty()) form.unsupported();
  form.source(at, Type::u32);
  const std::size_t without_count = at + (action == "red" ? 2 : 1);
  form.operand_count() > without_count ? form.source(at + 1, Type::u32) : form.constant(0, Type::u32);
  if (action == "red") form.predicate_source(form.operand(form.operand_count() - 1));
  form.instruction().aux0 = static_cast<std::uint32_t>(kind);
  form.instruction().aux1 = together ? 1 : 0;
  form.emit(execute_barrier, OpClass::barrier);
}

}  // namespace

std::span<const Operation> barrier_operations() {
  static constexpr Operation kOperations[] = {
      {"bar", Operands::any, decode_barrier},
      {"barrier", Operands::any, decode_barrier},
  };
  return kOperations;
}

}  // namespace evo::vgpu

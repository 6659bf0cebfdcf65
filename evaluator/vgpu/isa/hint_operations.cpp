#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/observer.h"

// Instructions that order or hint: the interpreter's memory is sequentially consistent and has no caches,
// launches run in stream order. PTX ISA 9.0, 9.7.13.4 "membar, fence", 9.7.9 "prefetch, discard,
// applypriority, createpolicy", 9.7.19.
namespace evo::vgpu {
namespace {

using ptx::Type;

void execute_nothing(Warp&, const Instruction&, std::uint32_t) {}

void execute_sleep(Warp& warp, const Instruction&, std::uint32_t) {
  warp.stop = Stop::yield;
}

void take_everything(Form& form) {
  while (!form.take_next().empty()) {
  }
}

/// Memory is in order here: fences are for an observer. aux0: the order.
void execute_fence(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (warp.launch->observer != nullptr) warp.launch->observer->fence(warp, in, mask);
}

void decode_fence(Form& form) {
  MemoryOrder order;
  order.block_scope = form.take("cta");
  order.proxy = form.take("proxy");
  const bool async =
      order.proxy && (form.take("async") || form.take("async::generic") || form.take("async.shared::cta"));
  const bool orders = !order.proxy || async;
  take_everything(form);
  form.instruction().aux0 = order.encoded();
  form.emit(orders ? execute_fence : execute_nothing, OpClass::fence);
}

void decode_hint(Form& form) {
  take_everything(form);
  form.emit(execute_nothing, OpClass::nothing);
}

/// Launches run one after another here. On a GPU they may overlap: that is for an observer.
void execute_grid_wait(Warp& warp, const Instruction&, std::uint32_t mask) {
  if (warp.launch->observer != nullptr) warp.launch->observer->wait_for_launches_ahead(warp, mask);
}

void execute_launch_dependents(Warp& warp, const Instruction&, std::uint32_t mask) {
  if (warp.launch->observer != nullptr) warp.launch->observer->let_dependents_go(warp, mask);
}

void decode_grid_dependency(Form& form) {
  const bool waits = form.take("wait");
  take_everything(form);
  form.emit(waits ? execute_grid_wait : execute_launch_dependents, waits ? OpClass::grid_wait : OpClass::nothing);
}

void decode_nanosleep(Form& form) {
  take_everything(form);
  form.emit(execute_sleep, OpClass::sleep);
}

/// A cache policy is an opaque number that only hints take.
void decode_createpolicy(Form& form) {
  take_everything(form);
  struct NoPolicy {
    static EVO_INLINE std::uint64_t apply(std::uint64_t zero) { return zero; }
  };
  form.destination(0, Type::b64);
  form.constant(0, Type::b64);
  form.emit(elementwise<NoPolicy>(form.simd()), OpClass::integer);
}

}  // namespace

std::span<const Operation> hint_operations() {
  static constexpr Operation kOperations[] = {
      {"membar", Operands::any, decode_fence},        {"fence", Operands::any, decode_fence},
      {"prefetch", Operands::any, decode_hint},       {"prefetchu", Operands::any, decode_hint},
      {"discard", Operands::any, decode_hint},        {"applypriority", Operands::any, decode_hint},
      {"pmevent", Operands::any, decode_hint},        {"griddepcontrol", Operands::any, decode_grid_dependency},
      {"nanosleep", Operands::any, decode_nanosleep}, {"createpolicy", Operands::any, decode_createpolicy},
  };
  return kOperations;
}

}  // namespace evo::vgpu

#include <bit>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/machine/procedure.h"

// PTX ISA 9.0, 9.7.17 "Stack Manipulation Instructions". What a thread allocates lies behind its frame, where the
// frames of called functions begin (machine/procedure.h), and is gone when the function returns.
namespace evo::vgpu {
namespace {

using ptx::Type;

constexpr std::uint32_t kDefaultAlignment = 8;

/// op: address, size. immediate: the alignment.
template <class T>
void allocate_on_stack(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Kernel& kernel = *warp.launch->kernel;
  const Slot<T>* sizes = source_row<T>(warp, in.op[1]);
  Word* stack = warp.own(kernel.stack_place);
  const auto alignment = static_cast<std::uint64_t>(in.immediate);
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t begin = (stack[lane] + alignment - 1) / alignment * alignment, bytes = sizes[lane];
    if (begin > kernel.local_bytes || bytes > kernel.local_bytes - begin) {
      return warp.fail(in,
                       std::to_string(bytes) + " bytes do not fit into the thread's stack of " +
                           std::to_string(kStackBytes) + " bytes",
                       lane);
    }
    if (Observer* const observer = warp.launch->observer) observer->local_defined(warp, lane, begin, bytes, false);
    stack[lane] = static_cast<Word>((begin + bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment);
    own_row<T>(warp, in.op[0])[lane] = static_cast<Slot<T>>(begin);
  }
}

/// op: where the stack ends.
template <class T>
void save_stack(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Word* stack = warp.own(warp.launch->kernel->stack_place);
  for (const int lane : lanes_of(mask)) {
    own_row<T>(warp, in.op[0])[lane] = stack[lane];
  }
}

/// op: what save_stack gave.
template <class T>
void restore_stack(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Kernel& kernel = *warp.launch->kernel;
  Word* stack = warp.own(kernel.stack_place);
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t end = source_row<T>(warp, in.op[0])[lane];
    if (end > stack[lane] || end < kernel.local_bytes - kStackBytes)
      return warp.fail(in, std::to_string(end) + " is not an earlier end of the thread's stack", lane);
    stack[lane] = static_cast<Word>(end);
  }
}

Type take_address_type(Form& form) {
  const Type type = form.type();
  if (type != Type::u32 && type != Type::u64) form.unsupported("only .u32 and .u64");
  form.builder().special(Special::stack);
  return type;
}

void decode_alloca(Form& form) {
  const Type type = take_address_type(form);
  form.destination(0, type);
  form.source(1, type);
  std::uint64_t alignment = kDefaultAlignment;
  if (form.operand_count() > 2) {
    alignment = form.operand(2).bits;
    if (form.operand(2).kind != ptx::Operand::Kind::integer || !std::has_single_bit(alignment) ||
        alignment > kStackBytes)
      form.unsupported("the alignment must be a power of two");
  }
  form.instruction().immediate = static_cast<std::int64_t>(alignment);
  form.emit(type == Type::u64 ? allocate_on_stack<std::uint64_t> : allocate_on_stack<std::uint32_t>, OpClass::integer,
            4);
}

void decode_stacksave(Form& form) {
  const Type type = take_address_type(form);
  form.destination(0, type);
  form.emit(type == Type::u64 ? save_stack<std::uint64_t> : save_stack<std::uint32_t>, OpClass::integer);
}

void decode_stackrestore(Form& form) {
  const Type type = take_address_type(form);
  form.source(0, type);
  form.emit(type == Type::u64 ? restore_stack<std::uint64_t> : restore_stack<std::uint32_t>, OpClass::integer);
}

}  // namespace

std::span<const Operation> stack_operations() {
  static constexpr Operation kOperations[] = {
      {"alloca", Operands::any, decode_alloca},
      {"stacksave", Operands::any, decode_stacksave},
      {"stackrestore", Operands::any, decode_stackrestore},
  };
  return kOperations;
}

}  // namespace evo::vgpu

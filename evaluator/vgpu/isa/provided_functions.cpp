#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/machine/printf.h"

// CUDA C++ Programming Guide, "Assertion", "Formatted Output", "Dynamic Global Memory Allocation and
// Operations".
namespace evo::vgpu {
namespace {

using ptx::Type;

/// __assertfail(message, file, line, function, charSize): op[0] is the first.
void execute_assert(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const int lane = std::countr_zero(mask);
  const std::string message = string_at(warp, source_row<std::uint64_t>(warp, in.op[0])[lane]);
  warp.fail(in, "assertion failed: " + message, lane);
}

/// vprintf(format, arguments): op[0] is the result, op[1] and op[2] the pointers.
void execute_printf(Warp& warp, const Instruction& in, std::uint32_t mask) {
  constexpr std::size_t kMostText = 1u << 20;
  const std::uint64_t* formats = source_row<std::uint64_t>(warp, in.op[1]);
  const std::uint64_t* arguments = source_row<std::uint64_t>(warp, in.op[2]);
  std::uint64_t* d = own_row<std::uint64_t>(warp, in.op[0]);
  std::string& printed = warp.launch->printed;
  for (const int lane : lanes_of(mask)) {
    const PrintedText print = format_printf(warp, lane, formats[lane], arguments[lane]);
    if (printed.size() + print.text.size() <= kMostText) printed += print.text;
    d[lane] = print.arguments;
  }
}

/// malloc(bytes): op[0] is the pointer, op[1] the size.
void execute_malloc(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint64_t* bytes = source_row<std::uint64_t>(warp, in.op[1]);
  std::uint64_t* d = own_row<std::uint64_t>(warp, in.op[0]);
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t size = bytes[lane];
    d[lane] = warp.launch->memory->allocate_from_heap(size);
    if (d[lane] != 0 && warp.launch->observer != nullptr) warp.launch->observer->allocated(d[lane], size);
  }
}

/// free(pointer): op[0].
void execute_free(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint64_t* pointer = source_row<std::uint64_t>(warp, in.op[0]);
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t address = pointer[lane];
    if (address == 0 || warp.launch->failure) continue;
    const Allocation* block = warp.launch->memory->find(address);
    if (block == nullptr || !block->of_heap || block->begin != address) {
      return warp.fail(in,
                       "frees " + describe_address(*warp.launch->memory, address) +
                           ", which malloc has not returned or which is freed",
                       lane, FindingKind::bad_access);
    }
    std::ranges::replace(warp.launch->caches, block, nullptr);
    if (warp.launch->observer != nullptr) warp.launch->observer->freed(address);
    warp.launch->memory->free(address);
  }
}

// ---- Between .param variables of a call, which are local memory, and registers. op[0] is the value, op[1]
// the address.

void load_parameter(Warp& warp, const Instruction& in, std::uint32_t mask) {
  std::uint64_t* d = own_row<std::uint64_t>(warp, in.op[0]);
  const Word* at = warp.row(in.op[1]);
  const std::size_t stride = warp.launch->kernel->local_bytes;
  for (const std::size_t lane : lanes_of(mask)) std::memcpy(&d[lane], warp.local + stride * lane + at[lane], 8);
}

/// `immediate` is the number of bytes.
void store_result(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint64_t* value = source_row<std::uint64_t>(warp, in.op[0]);
  const Word* at = warp.row(in.op[1]);
  const std::size_t stride = warp.launch->kernel->local_bytes, bytes = static_cast<std::size_t>(in.immediate);
  for (const int lane : lanes_of(mask)) {
    std::memcpy(warp.local + stride * static_cast<std::size_t>(lane) + at[lane], &value[lane], bytes);
    if (Observer* const observer = warp.launch->observer) observer->local_defined(warp, lane, at[lane], bytes, true);
  }
}

void check_parameter(const Form& form, const ptx::Operand& variable, KernelBuilder& builder, std::uint64_t bytes) {
  if (variable.kind != ptx::Operand::Kind::variable || builder.place_of(variable).space != ptx::Space::local)
    form.unsupported("an argument that is no .param variable");
  if (builder.bytes_of(variable) < bytes) form.unsupported("a .param variable that is too small");
}

std::uint32_t load_argument(Form& form, const ptx::Operand& variable) {
  check_parameter(form, variable, form.builder(), 8);
  const std::uint32_t value = form.new_temporary(Type::u64);
  form.begin_another();
  form.temporary_destination(value);
  form.source(variable, Type::u32);
  form.emit(load_parameter, OpClass::nothing);
  return value;
}

void store_result_in(Form& form, const ptx::Operand* results, std::uint32_t value, std::uint64_t bytes) {
  if (results == nullptr || results->elements.size() != 1) form.unsupported("one result is expected");
  check_parameter(form, results->elements[0], form.builder(), bytes);
  form.begin_another();
  form.temporary_source(value);
  form.source(results->elements[0], Type::u32);
  form.instruction().immediate = static_cast<std::int64_t>(bytes);
  form.emit(store_result, OpClass::nothing);
}

}  // namespace

void call_provided(Form& form, std::string_view name, const ptx::Operand* results, const ptx::Operand* arguments) {
  const std::size_t count = arguments == nullptr ? 0 : arguments->elements.size();
  const auto load = [&](std::size_t i) { return load_argument(form, arguments->elements[i]); };
  if (name == "vprintf" && count == 2) {
    const std::uint32_t text = load(0), values = load(1), taken = form.new_temporary(Type::u64);
    form.begin_another();
    form.temporary_destination(taken);
    form.temporary_source(text);
    form.temporary_source(values);
    form.emit(execute_printf, OpClass::store, 20);
    if (results != nullptr) store_result_in(form, results, taken, 4);
    return;
  }
  if (name == "malloc" && count == 1) {
    const std::uint32_t bytes = load(0), pointer = form.new_temporary(Type::u64);
    form.begin_another();
    form.temporary_destination(pointer);
    form.temporary_source(bytes);
    form.emit(execute_malloc, OpClass::store, 20);
    return store_result_in(form, results, pointer, 8);
  }
  if (name == "free" && count == 1) {
    const std::uint32_t pointer = load(0);
    form.begin_another();
    form.temporary_source(pointer);
    return form.emit(execute_free, OpClass::store, 20);
  }
  if (name == "__assertfail" && count >= 1) {
    const std::uint32_t message = load(0);
    form.begin_another();
    form.temporary_source(message);
    Flow flow;
    if (form.statement().guard == ptx::kNoRegister) flow.kind = Flow::Kind::trap;
    form.flow(flow);
    return form.emit(execute_assert, OpClass::leave);
  }
  form.unsupported("function " + std::string(name) + " is not defined in the module");
}

}  // namespace evo::vgpu

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/control_transfer.h"

// PTX ISA 9.0, 9.7.12 "Control Flow Instructions" and 9.7.19 "Miscellaneous Instructions".
namespace evo::vgpu {
namespace {

using ptx::Type;

const Instruction* code_at(const Warp& warp, std::uint32_t index) {
  return index == kNowhere ? nullptr : warp.launch->kernel->code.data() + index;
}

void execute_branch(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (code_at(warp, in.aux0) <= &in) warp.polls.at = nullptr;  // It may come back to a loop that it has left.
  if (mask == warp.active) {
    warp.next = code_at(warp, in.aux0);
    return;
  }
  warp.launch->paths = 2;
  warp.diverge(mask, code_at(warp, in.aux0), code_at(warp, in.aux1));
}

/// brx.idx: op[0] is the index into the table.
void execute_branch_table(Warp& warp, const Instruction& in, std::uint32_t mask) {
  warp.polls.at = nullptr;
  const Word* index = warp.row(in.op[0]);
  const auto* targets = warp.launch->kernel->tables.data() + in.aux0;
  const auto count = static_cast<std::uint32_t>(in.immediate);
  const auto target_of = [&](std::uint32_t at) { return count == 0 ? in.aux0 : targets[at]; };
  for (const int lane : lanes_of(mask))
    if (index[lane] >= std::max(count, 1u))
      return warp.fail(in, "the index " + std::to_string(index[lane]) + " is beyond the table", lane);
  // One target at a time: the lanes that go there leave, the rest stay with this instruction.
  const std::uint32_t first = index[std::countr_zero(mask)];
  const std::uint32_t same = lanes_with(index, first) & mask;
  if (same == warp.active) {
    warp.next = code_at(warp, target_of(first));
    return;
  }
  if (same != mask) warp.next = &in;  // The others execute it later.
  warp.launch->paths = 2;
  warp.diverge(same, code_at(warp, target_of(first)), code_at(warp, in.aux1));
}

void execute_trap(Warp& warp, const Instruction& in, std::uint32_t mask) {
  warp.fail(in, "the kernel trapped", std::countr_zero(mask));
}

// ---- Decoding

Flow branch_flow(const Form& form) {
  Flow flow;
  flow.kind = form.statement().guard == ptx::kNoRegister ? Flow::Kind::jump : Flow::Kind::branch;
  return flow;
}

void decode_bra(Form& form) {
  form.take("uni");
  const ptx::Operand& target = form.operand(0);
  if (target.kind != ptx::Operand::Kind::label) form.unsupported("unknown label " + std::string(target.name));
  form.flow(branch_flow(form));
  form.builder().branch_to(target);
  form.emit(execute_branch, OpClass::branch);
}

void decode_brx(Form& form) {
  if (!form.take("idx")) form.unsupported("only brx.idx");
  form.take("uni");
  form.source(0, Type::u32);
  form.flow(branch_flow(form));
  form.builder().branch_table(form.operand(1));
  form.emit(execute_branch_table, OpClass::branch, 2);
}

/// Nothing follows the instruction, unless it is guarded.
void end_flow(Form& form, Flow::Kind kind) {
  Flow flow;
  if (form.statement().guard == ptx::kNoRegister) flow.kind = kind;
  form.flow(flow);
}

void decode_exit(Form& form) {
  end_flow(form, Flow::Kind::trap);
  form.emit(execute_exit, OpClass::leave);
}

void decode_ret(Form& form) {
  form.take("uni");
  if (form.builder().in_entry()) {
    end_flow(form, Flow::Kind::leave);
    return form.emit(execute_exit, OpClass::leave);
  }
  if (form.builder().returns_to_caller()) {
    end_flow(form, Flow::Kind::leave);
    return form.emit(execute_return, OpClass::branch);
  }
  form.flow(branch_flow(form));
  form.builder().jump_to_return();
  form.emit(execute_branch, OpClass::branch);
}

void decode_trap(Form& form) {
  end_flow(form, Flow::Kind::trap);
  form.emit(execute_trap, OpClass::leave);
}

// ---- Calls of functions of the module. Most are inlined; recursive ones, those through pointers and those of very
// many become calls of procedures. `results` and `arguments` are the statement's groups; null: there is none.

/// A call of a procedure, and the point behind it where the lanes meet again.
void emit_procedure_call(Form& form, CallSite site, const ptx::Operand* pointer) {
  KernelBuilder& builder = form.builder();
  Kernel& kernel = builder.kernel();
  builder.special(Special::frame);
  builder.special(Special::stack);
  form.begin_another();
  if (pointer != nullptr) form.source(*pointer, Type::u64);
  form.instruction().immediate = static_cast<std::int64_t>(kernel.call_sites.size());
  kernel.call_sites.push_back(std::move(site));
  form.emit(pointer != nullptr ? execute_call_through_pointer : execute_call, OpClass::branch, 4);
  KernelBuilder::Draft back;
  back.instruction.execute = execute_reconverge;
  back.line = form.statement().line;
  back.ptx_line = form.statement().ptx_line;
  back.opcode = builder.opcode_number("(return)");
  builder.add(std::move(back), {});
}

void emit_call(Form& form, const ptx::Function& callee, const ptx::Operand* results, const ptx::Operand* arguments) {
  KernelBuilder& builder = form.builder();
  CallSite site = builder.call_site(&callee, results, arguments);
  const bool guarded = form.statement().guard != ptx::kNoRegister;
  if (!guarded && builder.can_inline(callee)) return builder.inline_call(callee, results, arguments);
  site.procedure = builder.procedure_of(callee);
  emit_procedure_call(form, std::move(site), nullptr);
}

void emit_call_through_pointer(Form& form, const ptx::Operand& pointer, const ptx::Operand* results,
                               const ptx::Operand* arguments) {
  CallSite site = form.builder().call_site(nullptr, results, arguments);
  form.builder().make_procedures_of_pointers();
  emit_procedure_call(form, std::move(site), &pointer);
}

void decode_call(Form& form) {
  form.take("uni");
  const auto& operands = form.statement().operands;
  std::size_t at = 0;
  const ptx::Operand* results = nullptr;
  if (!operands.empty() && operands[0].kind == ptx::Operand::Kind::group) results = &operands[at++];
  if (at >= operands.size()) form.unsupported("a function is expected");
  const ptx::Operand& callee = operands[at++];
  const std::string_view name = callee.name;
  const ptx::Operand* arguments =
      at < operands.size() && operands[at].kind == ptx::Operand::Kind::group ? &operands[at] : nullptr;
  if (callee.kind == ptx::Operand::Kind::reg) return emit_call_through_pointer(form, callee, results, arguments);
  if (callee.kind != ptx::Operand::Kind::function) form.unsupported("a function is expected");
  const ptx::Module& module = form.builder().module();
  const auto found = module.function_index.find(name);
  if (found == module.function_index.end() || !module.functions[found->second].defined) {
    return call_provided(form, name, results, arguments);
  }
  const ptx::Function& function = module.functions[found->second];
  if (function.entry) form.unsupported("a call of a kernel");
  emit_call(form, function, results, arguments);
}

}  // namespace

std::span<const Operation> control_operations() {
  static constexpr Operation kOperations[] = {
      {"bra", Operands::any, decode_bra},   {"brx", Operands::any, decode_brx},   {"exit", Operands::any, decode_exit},
      {"ret", Operands::any, decode_ret},   {"trap", Operands::any, decode_trap}, {"brkpt", Operands::any, decode_trap},
      {"call", Operands::any, decode_call},
  };
  return kOperations;
}

}  // namespace evo::vgpu

#include "evaluator/vgpu/decode/calls.h"

#include <utility>

#include "evaluator/vgpu/machine/control_transfer.h"

namespace evo::vgpu {
namespace {

/// A call of a procedure, and the point behind it where the lanes meet again.
void emit(Form& form, CallSite site, const ptx::Operand* pointer) {
  KernelBuilder& builder = form.builder();
  Kernel& kernel = builder.kernel();
  builder.special(Special::frame);
  builder.special(Special::stack);
  form.begin_another();
  if (pointer != nullptr) form.source(*pointer, ptx::Type::u64);
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

}  // namespace

void emit_call(Form& form, const ptx::Function& callee, const ptx::Operand* results, const ptx::Operand* arguments) {
  KernelBuilder& builder = form.builder();
  CallSite site = builder.call_site(&callee, results, arguments);
  const bool guarded = form.statement().guard != ptx::kNoRegister;
  if (!guarded && builder.can_inline(callee)) return builder.inline_call(callee, results, arguments);
  site.procedure = builder.procedure_of(callee);
  emit(form, std::move(site), nullptr);
}

void emit_call_through_pointer(Form& form, const ptx::Operand& pointer, const ptx::Operand* results,
                               const ptx::Operand* arguments) {
  CallSite site = form.builder().call_site(nullptr, results, arguments);
  form.builder().make_procedures_of_pointers();
  emit(form, std::move(site), &pointer);
}

}  // namespace evo::vgpu

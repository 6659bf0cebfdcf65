#pragma once

#include "evaluator/vgpu/decode/form.h"

/// Calls of functions of the module. Most are inlined; recursive ones, those through pointers and those of very many
/// become calls of procedures.
namespace evo::vgpu {

/// `results` and `arguments` are the statement's groups; null: there is none.
void emit_call(Form& form, const ptx::Function& callee, const ptx::Operand* results, const ptx::Operand* arguments);
void emit_call_through_pointer(Form& form, const ptx::Operand& pointer, const ptx::Operand* results,
                               const ptx::Operand* arguments);

}  // namespace evo::vgpu

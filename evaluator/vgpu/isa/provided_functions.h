#pragma once

#include <string_view>

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

/// A call of a function that the module declares and the interpreter provides: vprintf, __assertfail, malloc,
/// free.
void call_provided(Form& form, std::string_view name, const ptx::Operand* results, const ptx::Operand* arguments);

}  // namespace evo::vgpu

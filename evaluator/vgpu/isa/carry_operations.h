#pragma once

#include <string_view>

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

// Extended-precision arithmetic: the forms that set (.cc) or use (the name's final c) the carry.
void decode_add_with_carry(Form& form, bool uses_carry, bool sets_carry);
void decode_sub_with_borrow(Form& form, bool uses_carry, bool sets_carry);
void decode_mad_with_carry(Form& form, std::string_view part, bool uses_carry, bool sets_carry);

}  // namespace evo::vgpu

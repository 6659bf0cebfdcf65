#pragma once

#include <cstdint>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/access_mode.h"

namespace evo::vgpu {

/// The state space among a memory instruction's modifiers, consumed; generic when there is none.
Where take_space(Form& form);
/// Consumes what orders or hints at caching: the interpreter's memory is sequentially consistent and has no
/// caches. Returns the order that was asked for.
MemoryOrder take_memory_hints(Form& form);
/// Fills the next operand with the base of [base + offset] and sets immediate, aux0 and cache. `where` may
/// change: the parameters of device functions are local memory.
void take_address(Form& form, const ptx::Operand& operand, Where where, bool writes);
/// The same without touching the instruction: the operand's base is filled, mode and offset are returned.
struct AddressForm {
  AccessMode mode;
  std::int64_t offset = 0;
};
AddressForm take_base(Form& form, const ptx::Operand& operand, Where where, bool writes);

}  // namespace evo::vgpu

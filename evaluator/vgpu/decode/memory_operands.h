#pragma once

#include <cstdint>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/access_mode.h"

namespace evo::vgpu {

/// Takes the state space of a memory instruction; generic when there is none.
Where take_space(Form& form);
/// Takes the modifiers that order accesses or hint at caching. The interpreter's memory is sequentially consistent and
/// has no caches. Returns the order that the statement asks for.
MemoryOrder take_memory_hints(Form& form);
/// Fills the next operand with the base of [base + offset] and sets immediate, aux0 and cache. The parameters of device
/// functions are local memory, whatever `where` says.
void take_address(Form& form, const ptx::Operand& operand, Where where, bool writes);
/// Fills only the base, and returns mode and offset.
struct AddressForm {
  AccessMode mode;
  std::int64_t offset = 0;
};
AddressForm take_base(Form& form, const ptx::Operand& operand, Where where, bool writes);

}  // namespace evo::vgpu

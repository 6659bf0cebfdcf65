#pragma once

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

/// cp.async.mbarrier.arrive, once "async" and "mbarrier" have been taken.
void decode_arrive_after_copies(Form& form);

}  // namespace evo::vgpu

#pragma once

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

/// cp.async.bulk and cp.reduce.async.bulk, once "async" and "bulk" have been taken.
void decode_bulk(Form& form);

}  // namespace evo::vgpu

#pragma once

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

// Once "tensor" has been taken.
void decode_tensor_copy(Form& form);      ///< cp.async.bulk.tensor
void decode_tensor_prefetch(Form& form);  ///< cp.async.bulk.prefetch.tensor

}  // namespace evo::vgpu

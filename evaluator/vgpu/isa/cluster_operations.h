#pragma once

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

// Forms of other instructions for clusters. Their distinguishing modifier has been taken.
void decode_cluster_barrier(Form& form);  ///< barrier.cluster
void decode_async_store(Form& form);      ///< st.async
void decode_async_reduction(Form& form);  ///< red.async

}  // namespace evo::vgpu

#pragma once

#include <driver_types.h>

#include "evaluator/program/work.h"

/// What nodes of graphs do, from the runtime's parameters.
namespace evo::program {

Work kernel_work(const cudaKernelNodeParams* asked);
Work copy_work(const cudaMemcpy3DParms* asked);
Work fill_work(const cudaMemsetParams* asked);
Work host_work(const cudaHostNodeParams* asked);

/// A copy between memory and arrays.
Copy copy_of(const cudaMemcpy3DParms& asked);

}  // namespace evo::program

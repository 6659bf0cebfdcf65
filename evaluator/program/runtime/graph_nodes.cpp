#include "evaluator/program/runtime/graph_nodes.h"

#include "evaluator/program/runtime/code.h"

namespace evo::program {

Work kernel_work(const cudaKernelNodeParams* asked) {
  require(asked != nullptr);
  KernelLaunch launch;
  launch.function = &function_of(asked->func);
  launch.grid = {asked->gridDim.x, asked->gridDim.y, asked->gridDim.z};
  launch.block = {asked->blockDim.x, asked->blockDim.y, asked->blockDim.z};
  launch.dynamic_smem_bytes = asked->sharedMemBytes;
  launch.arguments = arguments_of(*launch.function, asked->kernelParams);
  check(launch);
  return launch;
}

Work copy_work(const cudaMemcpy3DParms* asked) {
  require(asked != nullptr);
  return copy_of(*asked);
}

Work fill_work(const cudaMemsetParams* asked) {
  require(asked != nullptr && (asked->elementSize == 1 || asked->elementSize == 2 || asked->elementSize == 4));
  return Fill{{reinterpret_cast<Address>(asked->dst), asked->pitch, 0},
              asked->value,
              asked->elementSize,
              asked->width,
              asked->height,
              1};
}

Work host_work(const cudaHostNodeParams* asked) {
  require(asked != nullptr && asked->fn != nullptr);
  return HostCall{asked->fn, asked->userData};
}

}  // namespace evo::program

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/device/launch_rules.h"
#include "evaluator/program/launch_attributes.h"
#include "evaluator/program/runtime/code.h"
#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

/// What <<<...>>> has pushed for the stub of the kernel that is called next.
struct Configuration {
  dim3 grid, block;
  std::size_t smem;
  void* stream;
};
std::vector<Configuration>& pushed() {
  static thread_local std::vector<Configuration> configurations;
  return configurations;
}

evo::Dim3 dims_of(const dim3& dims) {
  return {dims.x, dims.y, dims.z};
}

cudaError_t launch(const void* symbol, const dim3& grid, const dim3& block, void** values, std::size_t smem,
                   void* stream, bool cooperative) {
  return answer([&] {
    Stream& on = stream_of(stream);
    KernelLaunch launch;
    launch.function = &function_of(symbol);
    launch.grid = dims_of(grid);
    launch.block = dims_of(block);
    launch.dynamic_smem_bytes = static_cast<std::uint32_t>(smem);
    launch.cooperative = cooperative;
    launch.arguments = arguments_of(*launch.function, values);
    check(launch);
    submit(on, std::move(launch));
  });
}

}  // namespace

EVO_ENTRY unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t smem, void* stream) {
  pushed().push_back({grid, block, smem, stream});
  return 0;
}

EVO_ENTRY cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* smem, void* stream) {
  if (pushed().empty()) return cudaErrorMissingConfiguration;
  const Configuration last = pushed().back();
  pushed().pop_back();
  *grid = last.grid;
  *block = last.block;
  *smem = last.smem;
  *static_cast<void**>(stream) = last.stream;
  return cudaSuccess;
}

EVO_ENTRY cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** values, std::size_t smem,
                                       void* stream) {
  return launch(symbol, grid, block, values, smem, stream, false);
}

/// The stubs of CUDA 13 keep the kernel's handle.
EVO_ENTRY cudaError_t __cudaGetKernel(const void** kernel, const void* symbol) {
  // The program may never launch it: its code is loaded when it does.
  *kernel = symbol;
  return cudaSuccess;
}

EVO_ENTRY cudaError_t __cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** values, std::size_t smem,
                                         void* stream) {
  return launch(kernel, grid, block, values, smem, stream, false);
}

EVO_ENTRY cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block, void** values,
                                                  std::size_t smem, void* stream) {
  return launch(symbol, grid, block, values, smem, stream, true);
}

EVO_ENTRY cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol, void** values) {
  return answer([&] {
    require(config != nullptr);
    Stream& on = stream_of(config->stream);
    KernelLaunch launch;
    launch.function = &function_of(symbol);
    launch.grid = dims_of(config->gridDim);
    launch.block = dims_of(config->blockDim);
    launch.dynamic_smem_bytes = static_cast<std::uint32_t>(config->dynamicSmemBytes);
    take_attributes(launch, config->attrs, config->numAttrs);
    launch.arguments = arguments_of(*launch.function, values);
    check(launch);
    submit(on, std::move(launch));
  });
}

EVO_ENTRY cudaError_t cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return answer([&] {
    require(function != nullptr);
    submit(stream_of(stream), HostCall{function, data});
  });
}

EVO_ENTRY cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
  return answer([&] {
    require(attributes != nullptr);
    const Function& function = function_of(symbol);
    *attributes = {};
    attributes->sharedSizeBytes = function.facts.static_smem_bytes;
    attributes->localSizeBytes = function.facts.local_bytes;
    attributes->maxThreadsPerBlock = function.most_threads();
    attributes->numRegs = function.facts.registers;
    attributes->ptxVersion = attributes->binaryVersion = machine().info().limits.sm;
    attributes->maxDynamicSharedSizeBytes = function.dynamic_smem_limit;
    attributes->preferredShmemCarveout = function.carve_out;
    attributes->clusterDimMustBeSet = function.facts.required_cluster[0] != 0 ? 1 : 0;
    attributes->requiredClusterWidth = static_cast<int>(function.facts.required_cluster[0]);
    attributes->requiredClusterHeight = static_cast<int>(function.facts.required_cluster[1]);
    attributes->requiredClusterDepth = static_cast<int>(function.facts.required_cluster[2]);
  });
}

EVO_ENTRY cudaError_t cudaFuncSetAttribute(const void* symbol, int attribute, int value) {
  return answer([&] {
    Function& function = function_of(symbol);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      function.ask_for_smem(value);
    } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
      function.carve_out = value;
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
      function.non_portable_cluster = value != 0;
    }
  });
}

EVO_ENTRY cudaError_t cudaFuncSetCacheConfig(const void*, int) {
  return answer([] {});
}

EVO_ENTRY cudaError_t cudaFuncSetSharedMemConfig(const void*, int) {
  return answer([] {});
}

EVO_ENTRY cudaError_t cudaGetFuncBySymbol(void** function, const void* symbol) {
  return answer([&] {
    require(function != nullptr);
    *function = &function_of(symbol);
  });
}

EVO_ENTRY cudaError_t cudaGetKernel(void** kernel, const void* symbol) {
  return cudaGetFuncBySymbol(kernel, symbol);
}

EVO_ENTRY cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
  return answer([&] {
    require(name != nullptr);
    *name = function_of(symbol).name.c_str();
  });
}

EVO_ENTRY cudaError_t cudaFuncGetParamInfo(const void* symbol, std::size_t index, std::size_t* offset,
                                           std::size_t* bytes) {
  return answer([&] {
    const auto& parameters = function_of(symbol).facts.parameters;
    require(index < parameters.size());
    if (offset != nullptr) *offset = parameters[index].offset;
    if (bytes != nullptr) *bytes = parameters[index].bytes;
  });
}

EVO_ENTRY cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* symbol,
                                                                             int threads, std::size_t smem, unsigned) {
  return answer([&] {
    require(blocks != nullptr && threads > 0);
    *blocks = resident_blocks(function_of(symbol), threads, smem);
  });
}

EVO_ENTRY cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* symbol, int threads,
                                                                    std::size_t smem) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, threads, smem, 0);
}

EVO_ENTRY cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* symbol, int blocks,
                                                                int threads) {
  return answer([&] {
    require(bytes != nullptr && blocks > 0);
    *bytes = available_smem(function_of(symbol), blocks, threads);
  });
}

EVO_ENTRY cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* symbol, const cudaLaunchConfig_t*) {
  return answer([&] {
    require(size != nullptr);
    function_of(symbol);
    *size = evo::kPortableCluster;
  });
}

EVO_ENTRY cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* symbol,
                                                     const cudaLaunchConfig_t* config) {
  return answer([&] {
    require(clusters != nullptr && config != nullptr);
    KernelLaunch launch;
    launch.function = &function_of(symbol);
    launch.block = dims_of(config->blockDim);
    launch.dynamic_smem_bytes = static_cast<std::uint32_t>(config->dynamicSmemBytes);
    take_attributes(launch, config->attrs, config->numAttrs);
    *clusters = resident_clusters(launch);
  });
}

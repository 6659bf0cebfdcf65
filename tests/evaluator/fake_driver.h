#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/cuda/driver.h"

namespace evo::test {

/// A CUDA driver without a GPU. Device memory is host memory; kernels are functions of the test; time is
/// simulated. `results` makes a function of the driver fail.
class FakeGpu {
 public:
  /// A kernel: the sizes of its parameters, its effect, its duration and its fault.
  struct Kernel {
    std::vector<std::size_t> parameter_bytes;
    std::function<void(void** parameters)> body = [](void**) {};
    double us = 5;
    CUresult fault = CUDA_SUCCESS;
  };
  /// A launch as the driver saw it.
  struct Seen {
    std::string kernel;
    CUlaunchConfig config{};
    std::vector<CUlaunchAttribute> attributes;
    bool captured = false;
  };

  int devices = 1;
  std::map<CUdevice_attribute, int> attributes;
  std::map<std::string, Kernel> kernels;
  std::map<std::string, std::vector<std::byte>> variables;  ///< Of every module.
  std::map<std::string, CUresult> results;  ///< By the field of Driver: "memory_allocate" fails with this.
  double launch_latency_us = 2;             ///< Of a launch outside a graph.
  std::size_t memory_limit = std::size_t{1} << 30;
  std::function<void()> on_replay = [] {};

  std::vector<Seen> launches;
  std::vector<std::size_t> graph_sizes;  ///< Kernels and memsets of each instantiated graph.
  std::vector<std::pair<CUfunction_attribute, int>> function_attributes;
  std::vector<std::size_t> memsets;  ///< Bytes of each, outside of captures.
  std::size_t replays = 0;
  int live_handles = 0;  ///< Allocations, modules, streams, events, graphs, contexts.
  double now_us = 0;

  FakeGpu();
  ~FakeGpu();
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  /// The table whose functions act on this object, the only one alive.
  std::shared_ptr<const cuda::Driver> driver();
};

}  // namespace evo::test

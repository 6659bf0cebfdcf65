#pragma once

#include <cuda.h>

#include <optional>
#include <string>
#include <vector>

#include "evaluator/cuda/driver.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// One call of a plan, bound to loaded code and one set of buffers. It is prepared as far as possible: validation and
/// timing put exactly the same work into a stream. Driver and module must outlive it.
class BoundCall {
 public:
  /// Finds the kernels by the names that the build gives them, encodes the tensor maps, opts into large shared memory.
  /// Sets `failure` for an unknown kernel, arguments that do not fit its signature, or too much shared memory.
  BoundCall(const Driver& driver, CUmodule module, const Build& build, const Plan& plan, const Buffers& buffers,
            std::optional<Failure>& failure);

  /// Fills the variables of the program that the plan names. Timed calls leave it out.
  std::optional<Failure> fill_constants(CUstream stream) const;

  /// Puts one call into the stream, or into the graph being captured: zeroes workspaces that must be zero, then
  /// launches.
  std::optional<Failure> enqueue(CUstream stream) const;

 private:
  /// The bytes of one argument; the driver copies them at launch.
  using Value = std::vector<std::byte>;
  struct BoundLaunch {
    CUfunction function = nullptr;
    Launch launch;
    std::vector<Value> values;
    bool cooperative = false;  ///< Launched so: all blocks are resident together.
  };
  struct Zeroed {
    std::string name;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
  };

  struct Filled {
    std::string symbol;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUdeviceptr input = 0;  ///< Where the bytes are; 0: in `value`.
    Value value;
  };

  std::optional<Failure> bind(CUmodule module, const Build& build, const Plan& plan, const Buffers& buffers);
  std::optional<Failure> bind_constant(CUmodule module, const Build& build, const Plan& plan, const Buffers& buffers,
                                       const Constant& constant);
  std::optional<Failure> bind_launch(CUmodule module, const Build& build, const Plan& plan, const Buffers& buffers,
                                     const Launch& launch);
  std::optional<Failure> bind_arguments(const Plan& plan, const Buffers& buffers, BoundLaunch& bound) const;
  std::optional<Failure> check_signature(const BoundLaunch& bound) const;
  std::optional<Failure> opt_in(const BoundLaunch& bound, const Plan& plan) const;
  std::optional<Failure> enqueue(const BoundLaunch& bound, CUstream stream) const;

  const Driver* driver_;
  std::vector<Filled> filled_;
  std::vector<Zeroed> zeroed_;
  std::vector<BoundLaunch> launches_;
};

}  // namespace evo::cuda

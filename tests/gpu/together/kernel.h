#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

/// An exported kernel as tests/gpu/exports_together uses it, whichever task it is of.
namespace together {

/// Buffers of one kernel on the device and in the context that were current when they were made.
class Problem {
 public:
  virtual ~Problem() = default;
  /// Overwrites the outputs, then calls the launcher.
  virtual cudaError_t call(cudaStream_t stream) = 0;
  /// Whether the outputs have the bits of the kernel's first call. The stream must have ended.
  virtual bool same() const = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string name() const = 0;
  /// Calls the launcher in the current context, compares with the reference, and keeps the bits of the answer.
  virtual bool right() = 0;
  virtual std::unique_ptr<Problem> problem() const = 0;
};

/// Makes the kernel of an exported file for a shape ("B=1,H=8,S=512,D=64"); null for a shape it has no kernel for.
using MakeKernel = Kernel*(const char* shape);

}  // namespace together

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/handles.h"

namespace evo::cuda {

/// A kernel of this program's own PTX that works on the rows of a table, its first parameter: the blocks with the y
/// coordinate i on row i.
class RowKernel {
 public:
  /// In the current context. Throws machine_error.
  RowKernel(const Driver& driver, const char* ptx, const char* name);

  /// `units`: how many threads the longest row keeps busy; a row may have more than are launched. Returns the driver's
  /// answer.
  CUresult launch(std::size_t rows, std::uint64_t units, std::span<void*> parameters, CUstream stream) const;

 private:
  const Driver& driver_;
  OwnedModule module_;
  CUfunction function_ = nullptr;
};

}  // namespace evo::cuda

#pragma once

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/handles.h"

namespace evo::cuda {

/// PTX for sm_70, which every supported driver translates: kernel evo_digest(words, count, key, result) adds the digest
/// of `count` 64-bit words to *result.
const char* digest_ptx();

/// digest_of (evaluator/device/digest.h) on the GPU.
class DigestKernel {
 public:
  /// In the current context. Throws machine_error.
  explicit DigestKernel(const Driver& driver);

  /// Waits for the stream. `address` is a multiple of 8.
  std::uint64_t operator()(CUdeviceptr address, std::size_t bytes, std::uint64_t key, CUstream stream) const;

 private:
  const Driver& driver_;
  OwnedModule module_;
  CUfunction function_ = nullptr;
  OwnedMemory sum_;
};

}  // namespace evo::cuda

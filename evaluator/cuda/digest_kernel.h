#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/handles.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// PTX for sm_70, which every supported driver translates: kernel evo_digest(words, count, key, result) adds the digest
/// of `count` 64-bit words to *result.
const char* digest_ptx();

/// digest_of (evaluator/device/digest.h) on the GPU.
class DigestKernel {
 public:
  /// In the current context. Throws machine_error.
  explicit DigestKernel(const Driver& driver);

  /// Of each range, which begins at a multiple of 8. Waits for the stream once.
  std::vector<std::uint64_t> operator()(std::span<const DeviceRange> ranges, std::uint64_t key, CUstream stream);

 private:
  /// Adds the digest of whole words to the sum at `result`.
  void start(CUdeviceptr address, std::uint64_t words, std::uint64_t key, CUdeviceptr result, CUstream stream) const;

  const Driver& driver_;
  OwnedModule module_;
  CUfunction function_ = nullptr;
  OwnedMemory sums_;
  std::size_t room_ = 0;  ///< Sums that sums_ holds.
};

}  // namespace evo::cuda

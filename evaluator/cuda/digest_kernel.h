#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/handles.h"
#include "evaluator/cuda/pinned_buffer.h"
#include "evaluator/cuda/row_kernel.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// Ranges that one launch takes.
inline constexpr std::size_t kDigestRanges = 64;

/// The first parameter of evo_digest.
struct DigestedRanges {
  DeviceRange ranges[kDigestRanges];
};

/// PTX for sm_70, which every supported driver translates: kernel evo_digest(ranges, key, results) adds the digest of
/// range i to results[i]; the blocks with the y coordinate i work on it.
const char* digest_ptx();

/// digest_of (evaluator/device/digest.h) on the GPU.
class DigestKernel {
 public:
  /// In the current context. Throws machine_error.
  explicit DigestKernel(const Driver& driver);

  /// Makes room for so many digests. Throws machine_error when there is none.
  void reserve(std::size_t count);
  /// Puts the digests of ranges into the stream; each range begins at a multiple of 8. There is room for them. Returns
  /// the driver's answer.
  CUresult start(std::span<const DeviceRange> ranges, std::uint64_t key, CUstream stream);
  /// Those that were started last, once the stream has been waited for.
  std::vector<std::uint64_t> digests() const { return {found_.begin(), found_.end()}; }

 private:
  CUresult launch(std::span<const DeviceRange> ranges, std::uint64_t key, CUdeviceptr results, CUstream stream) const;

  const Driver& driver_;
  RowKernel kernel_;
  OwnedMemory sums_;
  std::size_t room_ = 0;  ///< Sums that sums_ holds.
  PinnedBuffer pinned_;
  std::span<const std::uint64_t> found_;
};

}  // namespace evo::cuda

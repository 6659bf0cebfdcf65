#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/row_kernel.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// Writes that one launch does.
inline constexpr std::size_t kWrites = 64;

/// The parameter of evo_write.
struct WriteTable {
  struct Entry {
    std::uint64_t to, from, bytes, value;  ///< value: the byte, eight times.
  } entries[kWrites];
};

/// PTX for sm_70: kernel evo_write(table); the blocks with the y coordinate i do write i.
const char* write_ptx();

/// DeviceWrites by one launch: a dozen copies and fills of the driver take ten times as long.
class WriteKernel {
 public:
  /// In the current context. Throws machine_error.
  explicit WriteKernel(const Driver& driver);

  /// Throws machine_error.
  void operator()(std::span<const DeviceWrite> writes, CUstream stream) const;

 private:
  void launch(std::span<const DeviceWrite> writes, CUstream stream) const;

  const Driver& driver_;
  RowKernel kernel_;
};

}  // namespace evo::cuda

#pragma once

#include <cstddef>
#include <span>

#include "evaluator/cuda/handles.h"

namespace evo::cuda {

/// Host memory that a GPU writes without the driver's help: a copy into other memory waits for the stream. It grows
/// with the requests.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(const Driver& driver) : driver_(driver) {}

  /// Of that many bytes, whose content is lost when it grows. Throws machine_error.
  std::span<std::byte> of(std::size_t bytes) {
    if (bytes > room_) {
      void* memory = nullptr;
      memory_ = OwnedHostMemory();
      room_ = 0;
      require(driver_, driver_.host_allocate(&memory, bytes, 0), "allocating pinned memory");
      memory_ = OwnedHostMemory(driver_, memory);
      room_ = bytes;
    }
    return {static_cast<std::byte*>(memory_.get()), bytes};
  }

 private:
  const Driver& driver_;
  OwnedHostMemory memory_;
  std::size_t room_ = 0;
};

}  // namespace evo::cuda

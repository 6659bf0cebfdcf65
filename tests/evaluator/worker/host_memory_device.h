#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "evaluator/device/device.h"
#include "evaluator/device/digest.h"

namespace evo::testing {

/// A device whose addresses are those of this process.
class HostMemoryDevice : public Device {
 public:
  void upload(DeviceAddress to, std::span<const std::byte> from) override {
    std::memcpy(reinterpret_cast<void*>(to), from.data(), from.size());
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    std::memcpy(to.data(), reinterpret_cast<const void*>(from), to.size());
  }
  void fill(DeviceAddress to, std::byte value, std::size_t bytes) override {
    std::memset(reinterpret_cast<void*>(to), std::to_integer<int>(value), bytes);
  }
  void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  }
  std::uint64_t digest(DeviceAddress from, std::size_t bytes) override {
    return digest_of({reinterpret_cast<const std::byte*>(from), bytes}, digest_key());
  }
};

}  // namespace evo::testing

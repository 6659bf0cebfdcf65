#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "evaluator/device/device.h"

namespace evo {

/// Device memory, freed with the object.
class DeviceMemory {
 public:
  DeviceMemory(Device& device, std::size_t bytes, const std::string& name)
      : device_(&device), address_(device.allocate(bytes, name)) {}
  ~DeviceMemory() {
    if (device_ == nullptr) return;
    try {
      device_->free(address_);
    } catch (...) {
      // A lost device has no memory to free, and the process is about to be replaced.
    }
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), address_(other.address_) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  DeviceAddress address() const { return address_; }

 private:
  Device* device_;
  DeviceAddress address_;
};

}  // namespace evo

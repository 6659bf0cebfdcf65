#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/evaluator/worker/host_memory_device.h"

namespace evo {

/// A device with memory only; it counts uploads.
class MemoryOnly : public testing::HostMemoryDevice {
 public:
  explicit MemoryOnly(DeviceInfo info = {}) : info_(std::move(info)) {}
  const DeviceInfo& info() const override { return info_; }
  DeviceAddress allocate(std::size_t bytes, const std::string&) override {
    memory.push_back(std::make_unique<std::vector<std::byte>>(bytes));
    return reinterpret_cast<DeviceAddress>(memory.back()->data());
  }
  void free(DeviceAddress) override {}
  void upload(DeviceAddress to, std::span<const std::byte> from) override {
    ++uploads;
    HostMemoryDevice::upload(to, from);
  }
  std::unique_ptr<Module> load(const Binary&, std::optional<Failure>&) override { return nullptr; }
  std::optional<Failure> run(const Module&, const Plan&, const Buffers&) override { return std::nullopt; }
  Timing time(const Module&, const Plan&, std::span<const Buffers>, const TimingRequest&,
              std::optional<Failure>&) override {
    return {};
  }

  std::vector<std::unique_ptr<std::vector<std::byte>>> memory;  ///< In the order of allocation.
  int uploads = 0;

 private:
  DeviceInfo info_;
};

}  // namespace evo

#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/device/digest.h"

namespace evo {

/// A device with memory only; it counts uploads.
class MemoryOnly final : public Device {
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

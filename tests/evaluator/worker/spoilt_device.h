#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "evaluator/device/device.h"

namespace evo::testing {

/// Another device, of which a test spoils the runs of plans.
class SpoiltDevice final : public Device {
 public:
  /// Called behind each run of a plan that succeeded.
  using Spoil = std::function<void(Device&, const Plan&, const Buffers&)>;

  SpoiltDevice(std::unique_ptr<Device> device, Spoil spoil) : device_(std::move(device)), spoil_(std::move(spoil)) {}

  const DeviceInfo& info() const override { return device_->info(); }
  DeviceAddress allocate(std::size_t bytes, const std::string& name) override { return device_->allocate(bytes, name); }
  void free(DeviceAddress address) override { device_->free(address); }
  void upload(DeviceAddress to, std::span<const std::byte> from) override { device_->upload(to, from); }
  void download(std::span<std::byte> to, DeviceAddress from) override { device_->download(to, from); }
  void fill(DeviceAddress to, std::byte value, std::size_t bytes) override { device_->fill(to, value, bytes); }
  void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) override { device_->copy(to, from, bytes); }
  std::uint64_t digest(DeviceAddress from, std::size_t bytes) override { return device_->digest(from, bytes); }
  std::unique_ptr<Module> load(const Binary& binary, std::optional<Failure>& failure) override {
    return device_->load(binary, failure);
  }
  std::optional<Failure> run(const Module& module, const Plan& plan, const Buffers& buffers) override {
    std::optional<Failure> failure = device_->run(module, plan, buffers);
    if (!failure) spoil_(*device_, plan, buffers);
    return failure;
  }
  std::optional<Failure> run_sanitised(const Module& module, const Plan& plan, const Buffers& buffers) override {
    return device_->run_sanitised(module, plan, buffers);
  }
  Timing time(const Module& module, const Plan& plan, std::span<const Buffers> rotation, const TimingRequest& request,
              std::optional<Failure>& failure) override {
    return device_->time(module, plan, rotation, request, failure);
  }

 private:
  std::unique_ptr<Device> device_;
  Spoil spoil_;
};

}  // namespace evo::testing

#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/vgpu/virtual_device.h"

namespace evo::vgpu {

/// A virtual H200 as a device: compiled kernels, and what their plans declare, filled with zeros.
struct DeviceBench {
  std::unique_ptr<VirtualGpu> device;
  std::unique_ptr<Module> module;
  Plan declared;  ///< Without launches.
  Buffers buffers;
  std::optional<Failure> failure;

  DeviceBench(std::string ptx, std::vector<PlanTensor> tensors, Workspace workspace, int threads = 1,
              std::optional<std::uint64_t> salt = {})
      : device(make_device("h200", threads, salt)) {
    declared.tensors = std::move(tensors);
    declared.workspaces = {std::move(workspace)};
    Binary binary;
    binary.ptx = std::move(ptx);
    module = device->load(binary, failure);
    REQUIRE_FALSE(failure);
    const auto allocated = [&](const auto& buffer) {
      const DeviceAddress address = device->allocate(buffer.bytes, buffer.name);
      device->fill(address, std::byte{0}, buffer.bytes);
      return address;
    };
    for (const PlanTensor& tensor : declared.tensors) buffers.tensors.push_back(allocated(tensor));
    buffers.workspaces.push_back(allocated(declared.workspaces[0]));
  }

  static Argument tensor(std::size_t index) { return {Argument::Kind::tensor, index}; }
  static Argument workspace() { return {Argument::Kind::workspace, 0}; }

  Plan plan_with(std::vector<evo::Launch> launches) const {
    Plan plan = declared;
    plan.launches = std::move(launches);
    return plan;
  }
  static evo::Launch launch_of(std::string kernel, std::uint32_t blocks, std::uint32_t threads,
                               std::vector<Argument> arguments) {
    evo::Launch launch;
    launch.kernel = std::move(kernel);
    launch.grid = {blocks, 1, 1};
    launch.block = {threads, 1, 1};
    launch.arguments = std::move(arguments);
    return launch;
  }

  Timing timing(const Plan& plan) { return device->time(*module, plan, {&buffers, 1}, {}, failure); }
  /// In microseconds. A failure fails the test, as of the next.
  double timed(const Plan& plan) {
    const Timing timing = this->timing(plan);
    if (failure) FAIL(plan.launches[0].kernel << ": " << failure->reason);
    return timing.median_us;
  }
  /// By the cost model alone.
  double modelled(const Plan& plan) {
    device->fill(buffers.workspaces[0], std::byte{0}, declared.workspaces[0].bytes);
    const double us = device->model(*module, plan, buffers, false, failure).latency_us;
    if (failure) FAIL(plan.launches[0].kernel << ": " << failure->reason);
    return us;
  }

  std::vector<std::uint32_t> words(DeviceAddress address, std::size_t count) const {
    std::vector<std::uint32_t> words(count);
    device->download(std::as_writable_bytes(std::span(words)), address);
    return words;
  }
};

}  // namespace evo::vgpu

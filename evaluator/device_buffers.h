#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan.h"
#include "evaluator/device.h"

namespace evo {

/// Device memory, freed with the object.
class DeviceMemory {
 public:
  DeviceMemory(Device& device, std::size_t bytes, const std::string& name)
      : device_(&device), address_(device.allocate(bytes, name)) {}
  ~DeviceMemory();
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

/// The surroundings of one run: what unwritten memory holds. Poison 0 (0xff) is a NaN in every floating-point format.
std::byte poison_byte(unsigned variant);

/// One set of a plan's buffers. Every tensor lies between two guards of bytes that nobody may write; a device that
/// checks every access by itself (the virtual GPU) gets buffers of the exact size instead.
class BufferSet {
 public:
  /// Throws machine_error when the memory for the tensors is exhausted.
  BufferSet(Device& device, const std::vector<PlanTensor>& tensors);

  /// Allocates the workspaces of a plan for these tensors; empty the ones of the plan before.
  std::optional<Failure> attach_workspaces(const std::vector<Workspace>& workspaces);

  /// Inputs from `inputs`, outputs poisoned, guards written, workspaces poisoned or zeroed.
  void prepare(const std::vector<std::vector<std::byte>>& inputs, unsigned poison_variant);

  /// Other inputs for another run, in surroundings that stay as they are.
  void replace_inputs(const std::vector<std::vector<std::byte>>& inputs);

  /// Overwrites the outputs: no answer lies about for others to find.
  void forget_outputs();

  /// Appends the outputs, in the plan's order, to `outputs`. A failure when a guard or an input was written.
  std::optional<Failure> collect(const std::vector<std::vector<std::byte>>& inputs, std::vector<std::byte>& outputs);

  const Buffers& addresses() const { return addresses_; }
  const std::vector<PlanTensor>& tensors() const { return tensors_; }
  std::size_t bytes() const;

 private:
  void prepare_workspaces(unsigned poison_variant);
  void prepare_input(std::size_t number, const std::vector<std::byte>& content);
  void prepare_output(std::size_t number, std::byte poison);

  Device& device_;
  std::vector<PlanTensor> tensors_;
  std::size_t guard_ = 0;
  std::vector<DeviceMemory> tensor_memory_;
  std::vector<Workspace> workspaces_;
  std::vector<DeviceMemory> workspace_memory_;
  Buffers addresses_;
  std::vector<std::byte> image_;  ///< Guard, content, guard of one tensor, on its way.
};

}  // namespace evo

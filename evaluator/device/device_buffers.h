#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/device/device_memory.h"
#include "evaluator/device/pristine_inputs.h"

namespace evo {

/// The content of unwritten memory in one run. Poison 0 (0xff) is a NaN in every floating-point format.
std::byte poison_byte(unsigned variant);
inline constexpr unsigned kPoisons = 3;

/// The content of inputs between the elements that their strides leave out.
inline constexpr std::byte kGap{0xff};

/// The outputs of one run.
struct RunOutputs {
  std::vector<std::uint64_t> digests;
  /// In the plan's order. What lies between the elements of one with strides is kGap, whatever it was
  /// poisoned with: it says nothing. Empty where only digests were wanted.
  std::vector<std::byte> bytes;
};

/// One set of a plan's buffers. Every tensor and every workspace lies between two guards (evaluator/device/guards.h).
class BufferSet {
 public:
  /// Throws machine_error when the memory for the tensors is exhausted.
  BufferSet(Device& device, const std::vector<PlanTensor>& tensors);

  /// Allocates the workspaces of a plan for these tensors, in place of an earlier plan's; workspaces of the same sizes
  /// are kept. A failure when they do not fit.
  std::optional<Failure> attach_workspaces(const std::vector<Workspace>& workspaces);

  /// Places the inputs, poisons the outputs, writes the guards, poisons or zeroes the workspaces. These have a poison
  /// of their own: with -1, a counter that nobody zeroes would nearly be right.
  void prepare(const PristineInputs& inputs, unsigned poison_variant, unsigned workspace_variant);

  /// Poisons or zeroes the workspaces.
  void prepare_workspaces(unsigned poison_variant);

  /// What places a case's inputs.
  std::vector<DeviceWrite> placing(const PristineInputs& inputs) const { return copies_of(inputs); }

  /// Places other inputs and leaves everything else as it is.
  void replace_inputs(const PristineInputs& inputs);

  /// Overwrites the outputs, so that no candidate finds an answer in memory.
  void forget_outputs();

  /// The same for workspaces, which hold parts of answers. On a device without guards they are freed.
  void forget_workspaces();

  /// What is to be read after a run: enough for `damage` and for the digests of an answer, and the outputs if wanted.
  enum class Wanted : std::uint8_t { digests, outputs };
  Readback readback(Wanted wanted) const;
  /// A failure when a guard or an input was written.
  std::optional<Failure> damage(const PristineInputs& inputs, const Readback& read);
  /// The tensor's number of the first input that is only read and does not hold what was drawn.
  std::optional<std::size_t> first_changed_input(const PristineInputs& inputs, const Readback& read) const;
  RunOutputs outputs(Readback read) const;
  /// Whether a plan's run writes an input: then `damage` cannot see whether it was placed as drawn.
  bool works_in_place() const;

  const Buffers& addresses() const { return addresses_; }
  const std::vector<PlanTensor>& tensors() const { return tensors_; }
  std::size_t bytes() const;

 private:
  std::vector<DeviceWrite> copies_of(const PristineInputs& inputs) const;
  std::vector<DeviceWrite> fresh_workspaces(unsigned poison_variant) const;
  std::vector<DeviceRange> read_only_inputs() const;
  std::vector<DeviceRange> guards_of(bool (*wanted)(const PlanTensor&)) const;
  bool guards_are_whole(const Readback& read) const;
  std::optional<Failure> damage_of_guards(const std::string& name, DeviceAddress address, std::uint64_t bytes);
  std::optional<Failure> damage_of_gaps(std::size_t number, std::span<const std::byte> content) const;
  Failure damage_of_input(std::size_t number, const PristineInputs& inputs, std::size_t drawn);

  Device& device_;
  std::vector<PlanTensor> tensors_;
  std::size_t guard_ = 0;  ///< Bytes of one.
  std::uint64_t guard_digest_ = 0;
  std::byte gap_poison_{0xff};
  std::vector<DeviceMemory> tensor_memory_;
  std::vector<Workspace> workspaces_;
  std::vector<DeviceMemory> workspace_memory_;
  Buffers addresses_;
};

}  // namespace evo

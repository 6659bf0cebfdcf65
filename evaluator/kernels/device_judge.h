#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/device/device_memory.h"
#include "evaluator/device/output_sums.h"
#include "evaluator/device/pristine_inputs.h"
#include "evaluator/kernels/device_drawer.h"

namespace evo {

/// The kernels that a DeviceJudge runs, in the launches of its plan "any".
Program judge_program();

/// Whether outputs of these dtypes can be compared on a device.
bool can_compare(DType got, DType want);

/// Keeps the reference's answers and compares outputs with them, on a device. Answers lie in the memory
/// of the process that runs candidates: they are hidden by a mask that only these kernels' arguments tell
/// (docs/trust.md), and looked at for damage before each comparison.
class DeviceJudge {
 public:
  /// `module`: judge_program, compiled.
  DeviceJudge(Device& device, std::unique_ptr<Module> module);

  /// It draws with the same module.
  DeviceDrawer& drawer() { return drawer_; }

  /// Keeps the outputs that a call of the reference has left in `set`, as the answer to a case. None has strides.
  /// Throws machine_error where the device draws other numbers than the host: it is not trusted to compare, either.
  void keep_answer(const std::string& name, const BufferSet& set);
  /// Compares what a call has left. One element of `wanted` for each output, in the plan's order. Empty where the
  /// answer was never kept, or has been written since: it is forgotten then. `inputs`: of the call, whole, where a
  /// change counts.
  std::vector<OutputSums> compare(const std::string& name, const BufferSet& set, std::span<const ComparedFor> wanted,
                                  const PristineInputs* inputs = nullptr);
  /// Where the answer to a case lies, output by output.
  std::vector<DeviceAddress> answer_at(const std::string& name) const;

 private:
  struct Answer {
    DType dtype;
    std::uint64_t elements;
    std::size_t bytes;  ///< Whole words.
    DeviceMemory memory;
    std::uint64_t key, digest;
  };
  OutputSums compare_one(DType dtype, DeviceAddress got, DeviceAddress before, const Answer& answer,
                         const ComparedFor& wanted) const;

  Device& device_;
  std::unique_ptr<Module> module_;
  std::map<std::string, std::vector<Answer>> answers_;
  DeviceDrawer drawer_;
};

}  // namespace evo

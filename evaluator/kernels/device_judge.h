#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/device/device_memory.h"
#include "evaluator/device/input_drawer.h"
#include "evaluator/device/input_recipe.h"
#include "evaluator/device/output_sums.h"

namespace evo {

/// The source of the kernels that a DeviceJudge runs, CUDA C++, and their names.
std::string judge_source();
std::vector<std::string> judge_kernels();

/// Whether outputs of these dtypes can be compared on a device, for that.
bool can_compare(DType got, DType want, const ComparedFor& what);

/// Draws inputs, keeps the reference's answers and compares outputs with them, on a device. Answers lie in the memory
/// of the process that runs candidates: they are hidden by a mask that only these kernels' arguments tell
/// (docs/trust.md), and looked at for damage before each comparison.
class DeviceJudge final : public InputDrawer {
 public:
  /// `module`: judge_source, compiled.
  DeviceJudge(Device& device, std::unique_ptr<Module> module);

  bool draws(const CaseRecipe& recipe, std::size_t input) const override;
  bool draw(const CaseRecipe& recipe, std::size_t input, DeviceAddress to) override;

  /// Keeps the outputs that a call of the reference has left in `set`, as the answer to a case. None has strides.
  /// Throws machine_error where the device draws other numbers than the host: it is not trusted to compare, either.
  void keep_answer(const std::string& name, const BufferSet& set);
  /// Compares what a call has left. One element of `wanted` for each output, in the plan's order. Empty where the
  /// answer was never kept, or has been written since: it is forgotten then.
  std::vector<OutputSums> compare(const std::string& name, const BufferSet& set, std::span<const ComparedFor> wanted);
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
  void run(const char* kernel, std::uint32_t blocks, std::vector<DeviceAddress> addresses,
           std::vector<Scalar> values) const;
  OutputSums compare_one(DType dtype, DeviceAddress got, const Answer& answer, const ComparedFor& wanted) const;

  Device& device_;
  std::unique_ptr<Module> module_;
  std::map<std::string, std::vector<Answer>> answers_;
  std::string why_unfit_;  ///< Empty: it is not.
};

}  // namespace evo

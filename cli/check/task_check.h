#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/null_answers.h"
#include "cli/check/regime_trial.h"
#include "cli/check/sanitised_program.h"
#include "engine/base/source_tree.h"
#include "engine/result/evaluation.h"
#include "engine/task/limits.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// How far one genome came on one shape.
enum class Reached : std::uint8_t { nothing, rendered, compiled, ran, right };

/// One output against the reference's.
struct CheckedOutput {
  std::string name;
  double relative_l2 = 0;
  Limits limits;
};

/// One genome on one case of a shape.
struct ShapeCheck {
  std::string shape;
  Reached reached = Reached::nothing;
  std::optional<Build> build;
  std::vector<CheckedOutput> outputs;
  std::string problem;  ///< Why it came no further, or what a search would refuse it for.
  std::vector<PlacedFinding> findings;
  std::string printed;  ///< By the kernel's printf.
  bool fine() const { return reached == Reached::right && problem.empty() && findings.empty(); }
};

/// The first genome of a family.
struct FamilyCheck {
  std::string family;
  std::string kernel_file;  ///< In the author's words.
  std::string genome;
  std::vector<std::string> kernels;  ///< Of the program.
  std::vector<std::string> unused_genes;
  std::vector<std::string> arguments;       ///< Those that differ from the kernels' parameters.
  std::vector<std::string> zero_constants;  ///< __constant__ variables that kernels read and nothing fills.
  std::vector<ShapeCheck> shapes;
  std::vector<std::string> skipped;  ///< Shapes, each with the reason.
  RegimeTrial regimes;               ///< At the shape of least work.
  std::string regimes_shape;
  bool fine() const;
};

struct TaskCheck {
  std::string task;
  DeviceInfo device;
  bool self_consistent = false;
  std::vector<FamilyCheck> families;
  std::vector<std::string> reference;    ///< Its faults, shape by shape.
  std::vector<std::string> skipped;      ///< Shapes that no family was checked on, each with the reason.
  std::vector<NullAnswer> null_answers;  ///< What the limits would let pass. No fault: a kernel may be right.
  bool fine() const;
};

struct CheckRequest {
  DeviceInfo device;                ///< A virtual one.
  std::vector<std::string> shapes;  ///< Empty: all of the task that are not too much work for the device.
  Bindings options;
  std::string family;  ///< Empty: all.
  /// Puts the author's places into a message.
  std::function<std::string(const std::string&)> placed = [](const std::string& message) { return message; };
};

/// Renders, compiles, runs and sanitises the first legal genome of each family on one case of each shape, and judges it
/// in all regimes at the shape of least work. Throws
/// usage_error for a wrong task or request.
TaskCheck check_task(const SourceTree& tree, const Task& task, const CheckRequest& request);

}  // namespace evo::cli

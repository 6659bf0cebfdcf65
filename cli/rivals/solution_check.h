#pragma once

#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/target.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

struct SolutionRequest {
  std::string solution;  ///< A file that rivals/solution.py takes.
  Task task;
  SourceTree tree;
  Target target;
  DeviceInfo device;
  double deadline_s = 120;
};

/// One case that a solution got wrong.
struct WrongCase {
  std::string shape, regime;
  std::uint64_t seed = 0;
  std::string why;
};

struct SolutionCheck {
  std::size_t cases = 0;  ///< That it was given.
  std::vector<WrongCase> wrong;
  std::size_t set_aside = 0;  ///< Cases that are right because no kernel need err less there.
  double worst_relative_l2 = 0;
  std::string version;  ///< Of the program that ran it.
};

/// Has somebody else's solution answer to every case of the target's grid, and judges the answers as a candidate's. A
/// solution that fails gets that case, and the rest of its shape, wrong. Throws machine_error where it cannot be run.
SolutionCheck check_solution(const SolutionRequest& request);

}  // namespace evo::cli

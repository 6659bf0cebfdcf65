#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo {

/// A step of what a task computes, whose values have a meaning of their own: "scores".
struct Stage {
  std::string name;
  std::string about;
};

/// What is done to the drawn elements of an input, so that the answer depends on fewer stages.
struct InputEdit {
  std::string input;
  bool zero = false;      ///< Every element is zero.
  bool equal = false;     ///< Every element is the code of one.
  bool rows = false;      ///< Each row (last dim) holds one value.
  bool columns = false;   ///< All rows of a matrix (last two dims) are the first one.
  bool matrices = false;  ///< All matrices are the first one.
  bool ramp = false;      ///< Element i is multiplied by i + 1: for scales, which a mistake else hardly changes.
};

/// Inputs under which a wrong answer means that one stage is wrong, if those of the isolations before are right.
struct Isolation {
  /// The same for each row, or each matrix of the last two dims, of an answer that is accepted all the same.
  enum class Free { nothing, row, matrix };

  std::string stage;
  std::string about;   ///< Describes the inputs, for people.
  Bindings shape;      ///< Parameters that replace the failing case's.
  std::string regime;  ///< Empty: the failing case's.
  std::vector<InputEdit> edits;
  Free free = Free::nothing;
  bool written = false;  ///< Only whether every element was written is looked at.
  double tolerance = 0;  ///< Relative error over the whole answer; 0: the task's limits.
};

/// Values within a kernel that a diagnosis compares with a reference of their own. Kernels write them between
/// `//% probe` and `end`.
struct Probe {
  Tensor tensor;
  std::string about;
  std::vector<std::string>
      stages;             ///< Where the fault is when this is the first wrong probe; the last is the usual one.
  double tolerance = 0;   ///< The largest relative error of right values; a row may have more.
  double negligible = 0;  ///< A value that is off by no more is right, however small it is: of logarithms.
};

/// How a wrong answer of a task is traced to the step that is wrong.
struct Stages {
  std::vector<Stage> stages;          ///< In the order in which they are computed.
  std::vector<Isolation> isolations;  ///< In the order in which they are tried.
  std::vector<Probe> probes;          ///< In the order in which they are compared.
  /// By family: the kernel that gets an address for each probe before its arguments.
  std::map<std::string, std::string> probed;
  std::optional<Task> probe_task;  ///< Its outputs are the probes, which its reference writes. Empty without probes.
};

/// TASK/stages.json, which says nothing about what is computed, so that it is no part of the task's hash.
inline constexpr const char* kStagesFile = "stages.json";

/// TASK/stages.json for the options. Without the file each drawn input is a stage: it alone varies, the others hold
/// ones. Throws usage_error that names file, key and reason.
Stages load_stages(const SourceTree& tree, const Task& task, const Bindings& options);

/// The candidate of a family with its probes, whose plans have them as further outputs. Throws as make_candidate does.
Candidate make_probed_candidate(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                                const Target& target, const Bindings& facts, const Stages& stages);

}  // namespace evo

#pragma once

#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/candidate.h"
#include "engine/task/target.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// How one candidate does in each regime of its task.
struct RegimeTrial {
  std::vector<std::string> right;  ///< Regimes.
  std::vector<std::string> wrong;  ///< What is wrong in a regime, one sentence each.
};

/// Judges a candidate as a search would, at the target's one shape: as many regimes as the device kind's budget for a
/// candidate allows, the usual one first, with one seed each. A regime in which it fails is left out, and the others
/// are tried again, until a few have failed. `device`: a virtual one. Throws usage_error where the reference fails.
RegimeTrial try_regimes(const SourceTree& tree, const Task& task, const Candidate& candidate, const Target& target,
                        const DeviceInfo& device);

}  // namespace evo::cli

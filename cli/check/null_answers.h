#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/target.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// An answer that nobody wants and the limits let pass: one without work, or rounded or summed with less care.
struct NullAnswer {
  std::string output;
  std::string what;                            ///< "zeros", "sums in f16".
  double relative_l2 = 0;                      ///< The largest, of all regimes.
  std::optional<double> limit = std::nullopt;  ///< The relative_l2 that rejects it. Empty: none does.
};

/// Tries the input unchanged, zeros, each row's mean, the answer to other inputs, sums in the next narrower type,
/// truncation, and halves rounded away from zero, on the target's first shape in each regime. A limit that rejects is
/// at least twice what the reference errs by in single precision and rounded to the output's dtype. Outputs whose
/// limits follow an emulation are left out. `device`: a virtual one. Throws usage_error for a reference that does not
/// run.
std::vector<NullAnswer> passing_null_answers(const SourceTree& tree, const Task& task, const Target& target,
                                             const DeviceInfo& device);

/// "zeros would pass (relative L2 0.01): a relative_l2 of 0.002 rejects it".
std::string null_answer_text(const NullAnswer& null);

}  // namespace evo::cli

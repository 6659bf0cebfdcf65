#pragma once

#include <vector>

#include "engine/expression/expression.h"

namespace evo {

class JsonPlace;
class NameScope;

/// A limit as a multiple of the error of the task's emulation (engine/task/calibration.h) on the same inputs.
struct EmulationLimit {
  double times = 0;  ///< 0: there is none.
  double plus = 0;
  double of(double error) const { return times * error + plus; }
};

/// The largest errors of an output against the oracle, over all elements of one case. 0: not checked.
struct Limits {
  double relative_l2 = 0;  ///< ||got - want|| / ||want||, at most.
  double cosine = 0;       ///< At least.
  double max_abs = 0;      ///< max |got - want| / rms(want), at most.
  double row_l2 = 0;       ///< Of each row: ||got - want|| over the larger of its ||want|| and the mean row's, at most.
  /// |got - want| <= atol + rtol |want| for every element, where one of them is positive.
  double atol = 0;
  double rtol = 0;
  double element_times = 1;  ///< As many times atol + rtol |want| pass: more than 1 in a widened() limit.
  bool exact = false;        ///< Every element equals the oracle's; the others are not looked at.
  /// Of an output that is read and written: ||got - want|| over what the call is to change, ||want - before||, at most.
  /// `want` is rounded to the output's dtype.
  double change = 0;
  double off_by_one = 0;             ///< The share of elements that may be off by one step of the dtype; none by more.
  EmulationLimit emulated_l2 = {};   ///< In the place of relative_l2, if there is one.
  EmulationLimit emulated_row = {};  ///< In the place of row_l2.

  bool follow_emulation() const { return emulated_l2.times > 0 || emulated_row.times > 0; }
};

/// Limits of one output under some options.
struct OutputLimits {
  Expression when;  ///< Over options.
  Limits limits;
};

/// Reads the `limits` of a task.
Limits read_limits(const JsonPlace& place);
/// Those of an objective: the task's, or tighter.
Limits read_tighter_limits(const JsonPlace& place, const Limits& task);
/// Those of an output: one object, or a list of them of which the first applies whose "when" holds. `options`: the
/// names that "when" may read.
std::vector<OutputLimits> read_output_limits(const JsonPlace& place, const NameScope& options);

}  // namespace evo

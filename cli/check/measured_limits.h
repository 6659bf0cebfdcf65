#pragma once

#include <string>
#include <vector>

#include "engine/short_form/short_form.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Where the limits of an output come from.
struct LimitSource {
  std::string output;
  std::string text;  ///< In words, without the output's name.
};

/// Gives the outputs that have no limits of their own those that honest arithmetic sets, tried on the cheapest shape in
/// each regime: a limit of the average, as a multiple of what the reference in single precision errs by on the same
/// inputs (engine/task/calibration.h), and for outputs of 16 bits and fewer a relative_l2 that rejects the null answers
/// which the dtype's usual limit lets pass (null_answers.h). Says where each limit comes from. Where the reference is
/// not tried, as without NVRTC or where it is too much work, the usual limits stay.
std::vector<LimitSource> take_measured_limits(ShortForm& form);

}  // namespace evo::cli

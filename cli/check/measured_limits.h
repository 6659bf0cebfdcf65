#pragma once

#include <string>
#include <vector>

#include "engine/short_form/short_form.h"

namespace evo::cli {

/// Gives outputs of 16 bits and fewer that have no limits of their own a relative_l2 that rejects the null answers
/// which the dtype's usual limit lets pass (null_answers.h). Says what was changed, one line each. Without NVRTC, or
/// where the reference is too much work, nothing is changed.
std::vector<std::string> tighten_limits(ShortForm& form);

}  // namespace evo::cli

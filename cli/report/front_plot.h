#pragma once

#include <string>
#include <vector>

#include "cli/report/pareto_front.h"

namespace evo::cli {

/// Latency over error as an SVG document, a plot for each front, side by side. Kernels that are exact are left out: a
/// logarithmic axis has no place for them. `regime`: whose errors they are.
std::string front_svg(const std::vector<Front>& fronts, const std::string& regime);

}  // namespace evo::cli

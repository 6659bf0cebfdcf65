#pragma once

#include <optional>
#include <string>

#include "cli/run/run_setup.h"

namespace evo::cli {

/// The latency in us at which a run ends that is given as --until: "20us", "95%", "1.1x RIVAL"; empty: none is. A
/// percentage is of the floor: the geometric mean of the least times of the timed shapes (cli/report/floor_share.h). A
/// rival is the one of the newest sitting that found it right and timed it for this task, target and model of device.
/// Throws usage_error for another text, and when there is no such floor or rival.
std::optional<double> latency_of_until(const std::string& text, const PreparedRun& run, const std::string& database);

}  // namespace evo::cli

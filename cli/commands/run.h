#pragma once

#include <string>

#include "cli/run/run_options.h"

namespace evo::cli {

/// Searches, records what it finds, and prints a summary. Returns the exit code.
int run(const RunRequest& request, const std::string& command_line);

}  // namespace evo::cli

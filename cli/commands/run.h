#pragma once

#include <string>

#include "cli/run/run_setup.h"

namespace CLI {
class App;
}

namespace evo::cli {

/// The options of a search that its subject does not change: device, limits, strategy, output.
void add_search_options(CLI::App& command, RunRequest& request);

/// Searches, records what it finds, and prints a summary. Returns the exit code.
int run(const RunRequest& request, const std::string& command_line);

}  // namespace evo::cli

#pragma once

#include "cli/kernel/kernel_run.h"

namespace CLI {
class App;
}

namespace evo::cli {

/// Adds the options that describe launches. `request` must outlive the parser.
void add_kernel_options(CLI::App& command, KernelRequest& request);
/// Fills the launches from what was parsed, in the order typed: --then begins another.
void take_kernel_options(KernelRequest& request, const CLI::App& command);
/// How arguments are written, for the end of a help.
extern const char* const kArgumentsHelp;

}  // namespace evo::cli

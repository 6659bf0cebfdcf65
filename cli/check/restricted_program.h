#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/worker/process.h"

namespace evo::cli {

struct ProgramResult {
  std::optional<ExitStatus> ended;  ///< Empty: it was killed at its deadline.
  std::string output;               ///< Standard output and error, at most the first MiB.
};

/// Runs a program and waits for it. It has no network, gains no rights, leaves no core and dies with this process.
/// `command`: its name, looked up in PATH, and its arguments. `log`: a file that takes its output. Throws machine_error
/// when it cannot be started.
ProgramResult run_restricted(const std::vector<std::string>& command, const std::filesystem::path& log,
                             std::chrono::seconds deadline);

}  // namespace evo::cli

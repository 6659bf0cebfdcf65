#pragma once

#include <string>
#include <vector>

namespace evo::cli {

/// What this executable is called with, first, to be a guard.
inline constexpr const char* kGuard = "guard";

/// What Process is to start, so that /bin/sh runs `command` with kWorkerSocket as its standard input and output and
/// neither it nor what it starts outlives this process, however that ends: a guard stands between them. Kill the
/// process group to end it sooner. As for workers, the thread that starts it must live as long.
std::vector<std::string> guarded_command(const std::string& command);

/// The guard itself: starts the command, and waits to be killed or for its parent to end. Returns an exit code where
/// the command cannot be started.
int guard(const std::string& command);

}  // namespace evo::cli

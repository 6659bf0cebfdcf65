#pragma once

#include <string>
#include <vector>

namespace evo::cli {

/// The first argument that makes this executable a guard.
inline constexpr const char* kGuard = "guard";

/// The arguments with which Process starts a guard. The guard has /bin/sh run `command`, with kWorkerSocket as standard
/// input and output, and kills the command and all its children when this process ends, however it ends. To end it
/// sooner, kill the process group. The thread that starts the guard must live as long.
std::vector<std::string> guarded_command(const std::string& command);

/// The same with `arguments` for this program instead of a command.
std::vector<std::string> guarded_evo(const std::vector<std::string>& arguments);

/// The guard, with what follows kGuard: starts the command, then waits until it is killed or its parent ends. Returns,
/// with an exit code, only when the command cannot be started.
int guard(const std::vector<std::string>& command);

}  // namespace evo::cli

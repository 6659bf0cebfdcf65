#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "evaluator/worker/channel.h"

namespace evo {

/// Starts `words` behind a prefix: a shell command that runs its arguments somewhere and passes on standard input and
/// output ("ssh node7", "docker exec -i NAME"; empty: here). Words must be plain: ssh gives them to another shell. The
/// process is told to end (SIGTERM) when the thread that started it does. Returns -1 when it does not start.
pid_t start_behind(const std::string& prefix, std::vector<std::string> words, int in, int out, int errors);

/// The last words of a command that has ended.
struct CommandResult {
  bool done = false;      ///< It ended with exit code 0.
  std::string said;       ///< On standard output, the first MiB.
  std::string complaint;  ///< What went wrong: the last line on standard error, else how it ended.
};

/// Runs `words` behind a prefix to their end, `input` (a file; empty: none) as standard input. Kills it after
/// `seconds`, and when `stop` (may be null) is raised.
CommandResult run_behind(const std::string& prefix, const std::vector<std::string>& words, const std::string& input,
                         double seconds, const StopSignal* stop = nullptr);

}  // namespace evo

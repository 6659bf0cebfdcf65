#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace evo::cli {

/// The action that the user asked for.
struct Invocation {
  std::string command_line;     ///< As typed.
  std::function<int()> action;  ///< Set when parsing meets a command. Returns the exit code; throws evo::Error.
};

/// Every command, in the order of `evo --help`. commands/NAME.cpp defines add_NAME(), which adds `evo NAME` to the
/// parser: its options, its help, and the action that it sets when it is chosen. A new command is a new file and a line
/// here.
#define EVO_COMMANDS(command)                                                                                    \
  command(run) command(tune) command(check) command(elites) command(show) command(note) command(export)          \
      command(verify) command(import) command(lineage) command(diff) command(tasks) command(space) command(runs) \
          command(report) command(watch) command(front) command(results) command(compare) command(baseline)      \
              command(replay) command(selftest) command(bench) command(db) command(vgpu) command(model)          \
                  command(profile) command(sanitize) command(diagnose) command(doctor) command(llm)              \
                      command(completions) command(man)

#define EVO_DECLARE_COMMAND(name) void add_##name(CLI::App& app, Invocation& invocation);
EVO_COMMANDS(EVO_DECLARE_COMMAND)
#undef EVO_DECLARE_COMMAND

}  // namespace evo::cli

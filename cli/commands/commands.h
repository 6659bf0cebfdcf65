#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "cli/text/table.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"

/// What commands are made of: arguments in, tables or JSON out. A command's file includes beside this what is its own.
namespace evo::cli {

/// The action that the user asked for.
struct Invocation {
  std::string command_line;  ///< As typed.
  /// What follows --program and the program's name: arguments of the program.
  std::vector<std::string> behind_program = {};
  std::function<int()> action = {};  ///< Set when parsing meets a command. Returns the exit code; throws evo::Error.
};

/// Every command, in the order of `evo --help`. commands/NAME.cpp defines add_NAME(), which adds `evo NAME` to the
/// parser: its options, its help, and the action that it sets when it is chosen. A new command is a new file and a line
/// here.
#define EVO_COMMANDS(command)                                                                                      \
  command(run) command(tune) command(check) command(elites) command(show) command(note) command(export)            \
      command(verify) command(attack) command(import) command(lineage) command(diff) command(tasks) command(space) \
          command(runs) command(report) command(watch) command(front) command(results) command(compare)            \
              command(baseline) command(replay) command(selftest) command(bench) command(db) command(vgpu)         \
                  command(model) command(profile) command(sanitize) command(diagnose) command(doctor) command(llm) \
                      command(mcp) command(completions) command(man)

#define EVO_DECLARE_COMMAND(name) void add_##name(CLI::App& app, Invocation& invocation);
EVO_COMMANDS(EVO_DECLARE_COMMAND)
#undef EVO_DECLARE_COMMAND

/// Adds `evo NAME`, whose action is `run` with the request that its options fill, and with the parser of the command or
/// the line that was typed, if it takes them.
template <class Request, class App, class... Further>
std::pair<App&, Request&> add_command(App& app, Invocation& invocation, const std::string& name,
                                      const std::string& help, int (*run)(const Request&, const Further&...)) {
  auto request = std::make_shared<Request>();
  App* command = app.add_subcommand(name, help);
  const auto further = [command, &invocation]<class Kind>(std::type_identity<Kind>) -> const Kind& {
    if constexpr (std::is_same_v<Kind, std::string>) return invocation.command_line;
    if constexpr (std::is_same_v<Kind, App>) return *command;
  };
  command->callback([=, &invocation] {
    invocation.action = [=] { return run(*request, further(std::type_identity<Further>())...); };
  });
  return {*command, *request};
}

}  // namespace evo::cli

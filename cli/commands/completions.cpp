#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/shell/completion.h"

namespace evo::cli {
namespace {

int print_completions(const std::string& shell) {
  print("{}", completion_script(shell));
  return kDone;
}

}  // namespace

void add_completions(CLI::App& app, Invocation& invocation) {
  auto [command, shell] = add_command(app, invocation, "completions",
                                      "Print the script that completes evo's commands in a shell", print_completions);
  add_option(command, fmt::format("{}", fmt::join(shell_names(), "|")), "", shell, "The shell")->required();
}

}  // namespace evo::cli

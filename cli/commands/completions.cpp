#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands/commands.h"
#include "cli/shell/completion.h"
#include "cli/subject/arguments.h"
#include "cli/text/exit_code.h"
#include "cli/text/streams.h"

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

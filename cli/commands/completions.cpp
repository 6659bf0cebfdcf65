#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands/commands.h"
#include "cli/shell/completion.h"
#include "cli/text/exit_code.h"

namespace evo::cli {

void add_completions(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completions", "Print the script that completes evo's commands in a shell");
  command->add_option(fmt::format("{}", fmt::join(shell_names(), "|")), *shell, "The shell")->required()->type_name("");
  command->callback([shell, &invocation] {
    invocation.action = [shell] {
      fmt::print("{}", completion_script(*shell));
      return kDone;
    };
  });
}

}  // namespace evo::cli

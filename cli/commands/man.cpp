#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/shell/man_page.h"
#include "cli/text/files.h"

namespace evo::cli {
namespace {

struct ManRequest {
  std::string command;
  std::string folder;
};

int man(const ManRequest& request, const CLI::App& app) {
  if (request.folder.empty()) {
    print("{}", man_page(app, request.command));
    return kDone;
  }
  std::vector<std::string> pages = listed_commands(app);
  pages.emplace_back();
  for (const std::string& command : pages) {
    const std::string file = man_page_name(command) + ".1";
    write_file((std::filesystem::path(request.folder) / file).string(), man_page(app, command));
  }
  return kDone;
}

}  // namespace

void add_man(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<ManRequest>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of evo, or of one command, for man -l -");
  CLI::Option* name = add_option(*command, "COMMAND", "", request->command, "The command (default: evo itself)");
  add_option(*command, "-o,--output", "DIR", request->folder, "Write every page into this folder")->excludes(name);
  command->callback(
      [request, &app, &invocation] { invocation.action = [request, &app] { return man(*request, app); }; });
}

}  // namespace evo::cli

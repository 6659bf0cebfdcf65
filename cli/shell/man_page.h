#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace evo::cli {

/// A page of section 1 in man's macros: of evo itself when `command` is empty, else of `evo COMMAND`. Everything comes
/// from the parser. Throws usage_error for an unknown command.
std::string man_page(const CLI::App& app, const std::string& command);

/// The pages' names, as "evo", "evo-run".
std::string man_page_name(const std::string& command);

/// The commands that `evo --help` lists, in its order.
std::vector<std::string> listed_commands(const CLI::App& app);

}  // namespace evo::cli

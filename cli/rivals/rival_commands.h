#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/rivals/rival_process.h"

namespace evo::cli {

/// The folder that $EVO_RIVALS names, else rivals/ beside templates/. Throws usage_error when there is none.
std::filesystem::path rivals_folder();

/// The shipped rivals: every executable file of that folder. Throws as rivals_folder does.
std::vector<RivalCommand> shipped_rivals();

/// The rivals that a user names: a shipped one by its name, or a command. Empty: every shipped one. Throws usage_error
/// for a single word that names none.
std::vector<RivalCommand> rivals_named(const std::vector<std::string>& names);

}  // namespace evo::cli

#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace evo::cli {

/// What parsing chose to do; returns the exit code. Errors are thrown as evo::Error.
using Action = std::function<int()>;

// Help of the options that several commands share.
inline constexpr const char* kTemplatesHelp =
    "Folder of tasks (default: $EVO_TEMPLATES, ./templates, the installed one)";
inline constexpr const char* kDatabaseHelp = "Database of runs and elites";
inline constexpr const char* kJsonHelp = "Print JSON (docs/json.md)";

/// Each adds one command to the parser: its options, its help and, when it is named, its action.
/// `command_line` is what was typed: it is stored with the run.
void add_run(CLI::App& app, Action& action, const std::string& command_line);
void add_tasks(CLI::App& app, Action& action);
void add_space(CLI::App& app, Action& action);
void add_elites(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_lineage(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_runs(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action, const std::string& command_line);
void add_compare(CLI::App& app, Action& action);
void add_db(CLI::App& app, Action& action);
void add_selftest(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);

}  // namespace evo::cli

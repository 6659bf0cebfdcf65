#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/llm/llm_options.h"
#include "cli/proposer/guarded_command.h"
#include "cli/run/remote_hosts.h"
#include "cli/shell/completion.h"
#include "cli/shell/help_text.h"
#include "cli/sources/installed_docs.h"
#include "cli/text/shell_words.h"
#include "cli/text/signals.h"
#include "cli/watch/watch_process.h"
#include "engine/base/text.h"
#include "evaluator/base/log.h"
#include "evaluator/hosts/devices.h"

namespace evo::cli {
namespace {

constexpr const char* kAbout =
    "evo searches for the fastest correct CUDA kernel for a task, on the GPU of this machine. Without a GPU, a virtual "
    "one runs the candidates and models their latency.";

/// The hidden command that the shells' scripts ask: `evo complete WORD...`.
constexpr const char* kComplete = "complete";

/// What follows this option and its value is a command line of its own.
constexpr const char* kProgram = "--program";

/// The variable that names the log where --log does not.
constexpr const char* kLogFile = "EVO_LOG";

constexpr const char* kFooter = R"(First steps:
  evo doctor                        show what works on this machine
  evo tasks                         list the tasks
  evo run --task fp8_sdpa           search; the three best kernels are kept in runs/evo.db
  evo elites                        list them
  evo export -o best.cu             write the best kernel as one .cu file

`evo COMMAND --help` lists the options of a command.

Exit codes: 0 done; 1 done, but a check failed or nothing valid was found; 2 wrong usage;
3 something is missing on this machine; 130 interrupted.)";

int complain(std::string_view message, int code) {
  log_line(LogLevel::error, [&] { return std::string(message); });
  write_to_stderr(fmt::format("evo: {}\n", with_places_of_docs(one_line(message))));
  return code;
}

/// Where the log goes.
struct LogRequest {
  std::string file;
  std::string level = "info";
};

std::string why_no_level(const std::string& word) {
  return log_level_named(word) ? "" : fmt::format("'{}': expected error, warning, info or debug", word);
}

/// Every command takes them, but for one that has an option of that name; they may also stand before the command.
void add_log_options(CLI::App& app, LogRequest& request, const std::string& group) {
  if (app.get_option_no_throw("--log") != nullptr) return;
  app.add_option("--log", request.file, "Add to this file what workers and devices do (default: $EVO_LOG)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--log-level", request.level, "How much of it (default: info)")
      ->type_name("error|warning|info|debug")
      ->check(why_no_level)
      ->group(group);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_name().empty()) add_log_options(*command, request, "Log");
}

void begin_log(LogRequest request, const std::string& command_line) {
  if (const char* named = std::getenv(kLogFile); request.file.empty() && named != nullptr) request.file = named;
  ::unsetenv(kLogFile);  // A process writes to a log of its own (evaluator/base/log.h).
  if (request.file.empty()) return;
  open_log(request.file, *log_level_named(request.level));
  log_line(LogLevel::info, [&] { return fmt::format("evo {} begins: {}", EVO_VERSION, command_line); });
}

/// Why a database of this name would be lost when SQLite closes it; empty when it is kept.
std::string why_not_kept(const std::string& database) {
  if (database.empty()) return "name a file";
  return database == ":memory:" ? "it is lost when evo ends: name a file" : "";
}

void refuse_temporary_databases(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (CLI::Option* option = command->get_option_no_throw("--db")) option->check(why_not_kept);
    refuse_temporary_databases(*command);
  }
}

/// The command line, quoted for a shell.
std::string command_line_of(const std::vector<std::string>& arguments) {
  std::string line = "evo";
  for (const std::string& argument : arguments) line.append(" ").append(shell_word(argument));
  return line;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // a former name
    for (const std::string& name : option->get_lnames()) names.push_back(fmt::format("--{}", name));
  }
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    for (const std::string& name : option_names(*group)) names.push_back(name);
  }
  return names;
}

/// The message for the first argument that no command or option takes.
std::string unexpected(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const std::vector<std::string> rest = app.remaining(true);
  const std::string word = rest.empty() ? "" : rest.front();
  if (parsed.empty()) {
    if (word.starts_with('-')) return fmt::format("unknown option '{}': evo --help lists the commands", word);
    return fmt::format("unknown command '{}'{}", word, suggestion(word, command_names(app)));
  }
  const CLI::App& command = *parsed.front();
  if (!word.starts_with('-')) {
    const bool may_be_a_task = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    }) && std::isalpha(static_cast<unsigned char>(word.front())) != 0;
    if (may_be_a_task && command.get_option_no_throw("--task") != nullptr)
      return fmt::format("evo {} takes no further argument '{}': a task is named by --task {}", command.get_name(),
                         word, word);
    return fmt::format("evo {} takes no further argument '{}': evo {} --help", command.get_name(), word,
                       command.get_name());
  }
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("evo {} has no option '{}'{}", command.get_name(), name, suggestion(name, option_names(command)));
}

/// The message for a command with subcommands, such as `evo db`, when none of them was named.
std::string missing_part(const CLI::App& command) {
  const std::vector<std::string> rest = command.remaining();
  const std::vector<std::string> parts = command_names(command);
  if (rest.empty()) return fmt::format("evo {} needs one of {}", command.get_name(), list_of(parts));
  return fmt::format("evo {} has no '{}'{}", command.get_name(), rest.front(), suggestion(rest.front(), parts));
}

/// As wide as the terminal, or so that a page of text is read well.
void print_help(const CLI::App& app) {
  constexpr std::size_t kWidest = 120, kLeast = 40, kElsewhere = 100;
  const std::size_t columns = terminal_of(stdout).columns;
  print("{}", wrapped_help(with_places_of_docs(app.help()),
                           columns == 0 ? kElsewhere : std::clamp(columns, kLeast, kWidest)));
}

/// CLI11 reports --help and --version as errors, too.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
    print_help(app);
    return kDone;
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return complain(unexpected(app), kWrongUsage);
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  if (!parsed.empty() && !command_names(*parsed.front()).empty() && parsed.front()->get_subcommands().empty())
    return complain(missing_part(*parsed.front()), kWrongUsage);
  const std::string help = parsed.empty() ? "evo --help" : fmt::format("evo {} --help", parsed.front()->get_name());
  return complain(fmt::format("{} ({})", error.what(), help), kWrongUsage);
}

void add_commands(CLI::App& app, Invocation& invocation) {
#define EVO_ADD_COMMAND(name) add_##name(app, invocation);
  EVO_COMMANDS(EVO_ADD_COMMAND)
#undef EVO_ADD_COMMAND
  refuse_temporary_databases(app);
  for (CLI::App* command : app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); })) {
    if (command->get_group().empty()) continue;  // Hidden.
    command->group(command_group(command->get_name()));
    const std::string example = command_example(command->get_name()), footer = command->get_footer();
    if (example.empty()) continue;
    command->footer(fmt::format("Example:\n  {}{}{}", fmt::join(split(example, '\n'), "\n  "),
                                footer.empty() ? "" : "\n\n", footer));
  }
}

int complain_of_output(const std::string& reason) {
  return complain(fmt::format("cannot write to standard output: {}", reason), kMachine);
}

/// The exit code, unless standard output could not be written.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return complain_of_output(std::strerror(errno));
}

int run_command(std::vector<std::string> arguments) {
  // `evo help run` is `evo run --help`.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (arguments.empty()) arguments.push_back("--help");

  CLI::App app(kAbout, "evo");
  app.set_version_flag("-V,--version", "evo " EVO_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.get_formatter()->column_width(28);
  // The name of another command is an argument: evo man run.
  app.require_subcommand(0, 1);
  Invocation invocation{command_line_of(arguments)};
  if (const auto named = std::ranges::find(arguments, kProgram); arguments.end() - named > 2) {
    invocation.behind_program.assign(named + 2, arguments.end());
    arguments.erase(named + 2, arguments.end());
  }
  add_commands(app, invocation);
  LogRequest log;
  add_log_options(app, log, "Options");
  if (arguments.front() == kComplete) {
    print("{}", completion_lines(complete(app, {arguments.begin() + 1, arguments.end()})));
    return kDone;
  }
  // After the commands, which would inherit it.
  app.footer(kFooter);
  try {
    // CLI11 takes its arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error);
  }
  if (!invocation.action) return complain("name a command: evo --help lists them", kWrongUsage);
  begin_log(log, invocation.command_line);
  const int code = invocation.action();
  log_line(LogLevel::info, [&] { return fmt::format("evo ends with code {}", code); });
  return code;
}

}  // namespace
}  // namespace evo::cli

int main(int argc, char** argv) {
  using namespace evo::cli;
  open_closed_streams();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "worker") {
    ignore_interrupts();
    if (arguments.size() == 3 && arguments[1] == kHello) return flushed(say_hello(arguments[2]));
    return evo::worker_main({arguments.begin() + 1, arguments.end()});
  }
  if (arguments.size() > 1 && arguments.front() == kGuard) return guard({arguments.begin() + 1, arguments.end()});
  if (arguments.size() == 3 && arguments.front() == kWatchRun) return watch_run(arguments[1], arguments[2]);
  take_llm_key();
  // A file that must not grow further is an error like a full disk, not the end of this process.
  ::signal(SIGXFSZ, SIG_IGN);
  try {
    return flushed(run_command(arguments));
  } catch (const evo::Error& error) {
    return complain(error.what(), error.fault() == evo::Fault::usage ? kWrongUsage : kMachine);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kMachine);
  } catch (const std::system_error& error) {
    // fmt::print throws this when standard output cannot be written.
    if (std::ferror(stdout) != 0) return complain_of_output(error.code().message());
    return complain(error.what(), kMachine);
  } catch (const std::exception& error) {
    return complain(error.what(), kMachine);
  }
}

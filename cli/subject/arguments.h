#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/task/task.h"
#include "population/store/records.h"

namespace CLI {
class App;
}

namespace evo::cli {

/// Whether a text consists of digits. Such a text is the number of a candidate or a run, not the name of a file.
bool all_digits(std::string_view text);

/// Adds an option whose value `type` names in --help: "FILE"; "" for an argument without a name before it. A text that
/// it has already is shown as its default. Each value of a list has the option's name before it.
template <class App, class Value>
auto* add_option(App& command, const std::string& name, const std::string& type, Value& value,
                 const std::string& help) {
  auto* const option = command.add_option(name, value, help)->type_name(type);
  if constexpr (std::is_same_v<Value, std::string>) option->capture_default_str();
  if constexpr (std::is_same_v<Value, std::vector<std::string>>)
    if (name.starts_with('-')) option->allow_extra_args(false);
  return option;
}

// Options that several commands have.
void add_database_option(CLI::App& command, std::string& database);
void add_templates_option(CLI::App& command, std::string& templates);
void add_json_flag(CLI::App& command, bool& json);
/// Those of them that the request has members for: `database`, `templates`, `json`.
template <class Request>
void add_usual_options(CLI::App& command, Request& request) {
  if constexpr (requires { request.database; }) add_database_option(command, request.database);
  if constexpr (requires { request.templates; }) add_templates_option(command, request.templates);
  if constexpr (requires { request.json; }) add_json_flag(command, request.json);
}
/// --task, --device and --objective: which elites are meant.
void add_filter_options(CLI::App& command, EliteFilter& filter);

/// An option's former name: it still works, is not listed by --help, and prints the new name on standard error.
void add_former_name(CLI::App& command, const std::string& former, const std::string& name, std::string& value);

// Each of these throws a usage_error that names the option, the given text and what is expected.

/// A whole number from `least` to `most`. `option` is for the message ("--evals").
std::uint64_t parse_number(std::string_view option, std::string_view text, std::uint64_t least = 0,
                           std::uint64_t most = UINT64_MAX);

/// "90s", "10m", "1h", "1h30m", "1.5h": positive, with units.
std::chrono::milliseconds parse_duration(std::string_view option, std::string_view text);

inline constexpr const char* kTurnHelp =
    "How long each program runs in a round, half of it to warm up; use 1s if a power limit makes clocks swing "
    "(default: 0.15s to 0.2s there, a few milliseconds at full clock)";
/// Seconds from 0.1 to 10; an empty text is 0.
double parse_turn(std::string_view option, std::string_view text);

/// "20us", "1.5ms", "800ns": positive, in microseconds.
double parse_latency(std::string_view option, std::string_view text);

/// Throws usage_error when one of the options was given: they do not apply to `subject` ("a candidate's ID").
void refuse_options(const CLI::App& command, const std::vector<std::string>& options, std::string_view subject);

/// The shapes in a list such as "mission,1,8,512,64,B=1,H=8,S=77,D=64": names, and sizes in parse_shape's syntax. Each
/// is checked against the task.
std::vector<std::string> parse_shapes(const Task& task, const std::vector<std::string>& arguments);

/// {"out=bf16"} as option values of the task, checked against its options.
Bindings parse_options(const Task& task, const std::vector<std::string>& arguments);

/// The number of a candidate or a run: "17" or "#17". They are counted from 1.
std::int64_t parse_id(std::string_view what, std::string_view text);

}  // namespace evo::cli

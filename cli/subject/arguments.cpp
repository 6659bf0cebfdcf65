#include "cli/subject/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cli/text/streams.h"
#include "cli/text/suggest.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

double seconds_of(std::string_view unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  return 0;
}

}  // namespace

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void add_database_option(CLI::App& command, std::string& database) {
  add_option(command, "--db", "FILE", database, "Database of runs and elites");
}

void add_templates_option(CLI::App& command, std::string& templates) {
  add_option(command, "--templates", "DIR", templates,
             "Folder of tasks (default: $EVO_TEMPLATES, else the installed one)");
}

void add_filter_options(CLI::App& command, EliteFilter& filter) {
  add_option(command, "--task", "TASK", filter.task, "Only of this task");
  add_option(command, "--device", "DEVICE", filter.device,
             "Only of this device: its id, cuda, vgpu, or a part of its name");
  command.add_option("--objective", filter.objective,
                     "Only of this objective, as evo elites lists it, or of all that begin so: accurate");
}
void add_json_flag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON (docs/json.md)");
}

void add_former_name(CLI::App& command, const std::string& former, const std::string& name, std::string& value) {
  command.add_option(former, value)->group("")->each([former, name](const std::string&) {
    write_to_stderr(fmt::format("{} is now called {}\n", former, name));
  });
}

std::uint64_t parse_number(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto number = number_in<std::uint64_t>(text);
  if (!number || *number < least) {
    throw usage_error(fmt::format("{} '{}': give a whole number{}", option, text,
                                  least > 0 ? fmt::format(", at least {}", least) : ""));
  }
  if (*number > most) throw usage_error(fmt::format("{} {}: at most {}", option, text, most));
  return *number;
}

void refuse_options(const CLI::App& command, const std::vector<std::string>& options, std::string_view subject) {
  for (const std::string& option : options) {
    if (command.count(option) > 0)
      throw usage_error(
          fmt::format("{} cannot be combined with {} (evo {} --help)", option, subject, command.get_name()));
  }
}

std::chrono::milliseconds parse_duration(std::string_view option, std::string_view text) {
  const auto wrong = [&] {
    return usage_error(fmt::format("{} '{}': give a duration with its unit, as 90s, 10m or 1h30m", option, text));
  };
  constexpr std::string_view kDigits = "0123456789.";
  constexpr double kLongest = 365 * 86400.0;
  double seconds = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t amount_length = std::min(rest.find_first_not_of(kDigits), rest.size());
    const auto amount = number_in<double>(rest.substr(0, amount_length));
    rest.remove_prefix(amount_length);
    const std::size_t unit_length = std::min(rest.find_first_of(kDigits), rest.size());
    const double unit_seconds = seconds_of(rest.substr(0, unit_length));
    if (!amount || unit_seconds == 0) throw wrong();
    seconds += *amount * unit_seconds;
    rest.remove_prefix(unit_length);
  }
  if (!(seconds >= 1e-3)) throw wrong();
  if (!(seconds <= kLongest)) throw usage_error(fmt::format("{} '{}': at most a year", option, text));
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

double parse_turn(std::string_view option, std::string_view text) {
  if (text.empty()) return 0;
  const double seconds = std::chrono::duration<double>(parse_duration(option, text)).count();
  if (seconds < 0.1 || seconds > 10) throw usage_error(fmt::format("{} '{}': from 0.1s to 10s", option, text));
  return seconds;
}

double parse_latency(std::string_view option, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1e-3}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}}};
  const std::size_t amount_length = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto amount = number_in<double>(text.substr(0, amount_length));
  const auto unit = std::ranges::find(kUnits, text.substr(amount_length), &decltype(kUnits)::value_type::first);
  if (!amount || unit == kUnits.end() || !(*amount > 0))
    throw usage_error(fmt::format("{} '{}': give a latency with its unit, as 20us or 1.5ms", option, text));
  return *amount * unit->second;
}

std::vector<std::string> parse_shapes(const Task& task, const std::vector<std::string>& arguments) {
  std::vector<std::string> pieces;
  for (const std::string& argument : arguments) {
    for (std::string& piece : split(argument, ',')) pieces.push_back(std::move(piece));
  }
  const std::size_t parameters = task.shape_parameters.size();
  std::vector<std::string> shapes;
  for (std::size_t i = 0; i < pieces.size();) {
    const bool is_size = all_digits(pieces[i]) || pieces[i].find('=') != std::string::npos;
    if (!is_size) {
      const std::vector<std::string> names = names_of(task.shapes);
      if (std::find(names.begin(), names.end(), pieces[i]) == names.end()) {
        throw unknown_name("shape", pieces[i], names, fmt::format("of task {}", task.name));
      }
      shapes.push_back(pieces[i++]);
      continue;
    }
    if (pieces.size() - i < parameters) {
      throw usage_error(fmt::format("--shapes: '{}' has {} of the {} sizes that a shape of {} needs ({})",
                                    fmt::join(pieces.begin() + static_cast<std::ptrdiff_t>(i), pieces.end(), ","),
                                    pieces.size() - i, parameters, task.name, fmt::join(task.shape_parameters, ",")));
    }
    const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(i);
    const std::string sizes = fmt::format("{}", fmt::join(first, first + static_cast<std::ptrdiff_t>(parameters), ","));
    parse_shape(task, sizes);  // Throws when the sizes are no shape of the task.
    shapes.push_back(sizes);
    i += parameters;
  }
  return shapes;
}

Bindings parse_options(const Task& task, const std::vector<std::string>& arguments) {
  Bindings chosen;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw usage_error(fmt::format("--option '{}': write it as name=value", argument));
    }
    const std::string name = argument.substr(0, equals);
    const std::string text = argument.substr(equals + 1);
    const auto option = std::ranges::find(task.options, name, &Option::name);
    if (option == task.options.end()) {
      throw unknown_name("option", name, names_of(task.options), fmt::format("of task {}", task.name));
    }
    std::vector<std::string> values;
    for (const Value& value : option->values) values.push_back(expr::to_string(value));
    auto value = std::find(values.begin(), values.end(), text);
    if (const auto number = number_in<double>(text); number && value == values.end()) {
      // "1e-6" and "0.000001" are one number.
      const auto same = [&](const Value& known) {
        const double* real = std::get_if<double>(&known);
        return real != nullptr && *real == *number;
      };
      value =
          values.begin() + (std::find_if(option->values.begin(), option->values.end(), same) - option->values.begin());
    }
    if (value == values.end()) throw unknown_name("value", text, values, fmt::format("of option {}", name));
    if (!chosen.emplace(name, option->values[static_cast<std::size_t>(value - values.begin())]).second) {
      throw usage_error(fmt::format("--option {}: given twice", name));
    }
  }
  return chosen;
}

std::int64_t parse_id(std::string_view what, std::string_view text) {
  const auto id = number_in<std::int64_t>(text.substr(text.starts_with('#') ? 1 : 0));
  if (!id || *id < 1) {
    throw usage_error(fmt::format("'{}' is no {} number: give one as listed by evo {}", text, what,
                                  what == "run" ? "runs" : "elites"));
  }
  return *id;
}

}  // namespace evo::cli

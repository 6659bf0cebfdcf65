#include "cli/shell/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string_view>

#include "cli/text/suggest.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

/// Text in which every character stands for itself.
std::string roff(std::string_view text) {
  std::string escaped;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) escaped += "\\&";
    starts_line = c == '\n';
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", roff(text));
}

std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", roff(text));
}

std::string section(std::string_view title, std::string_view text) {
  return fmt::format(".SH {}\n{}\n", roff(title), text);
}

/// Lines that are printed as they are.
std::string verbatim(std::string_view lines) {
  return fmt::format(".nf\n{}\n.fi", roff(lines));
}

/// "-o, --output FILE ..."
std::string heading_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
  for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
  std::string heading =
      option.get_positional() ? italic(option.get_name(true)) : fmt::format("{}", fmt::join(names, ", "));
  if (option.get_items_expected_max() == 0) return heading;
  if (!option.get_positional() && !option.get_type_name().empty()) heading += " " + italic(option.get_type_name());
  return option.get_expected_max() > 1 ? heading + " ..." : heading;
}

std::string entry(const CLI::Option& option) {
  std::string text = roff(option.get_description());
  if (const std::string& fallback = option.get_default_str(); !fallback.empty())
    text += fmt::format(" (default: {})", roff(fallback));
  return fmt::format(".TP\n{}\n{}\n", heading_of(option), text);
}

std::vector<const CLI::Option*> options_of_group(const CLI::App& command, const std::string& group) {
  return command.get_options(
      [&](const CLI::Option* option) { return option->get_group() == group && !option->get_positional(); });
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string options_text(const CLI::App& command, bool with_titles) {
  std::string text;
  for (const std::string& group : command.get_groups()) {
    const std::vector<const CLI::Option*> options = options_of_group(command, group);
    if (group.empty() || options.empty()) continue;
    if (with_titles && group != "Options") text += fmt::format(".SS {}\n", roff(group));
    for (const CLI::Option* option : options) text += entry(*option);
  }
  return text;
}

std::string arguments_text(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* argument : arguments_of(command)) text += entry(*argument);
  return text;
}

std::vector<const CLI::App*> parts_of(const CLI::App& command) {
  return command.get_subcommands(
      [](const CLI::App* part) { return !part->get_group().empty() && !part->get_name().empty(); });
}

/// "evo show [OPTIONS] ID"
std::string synopsis(const CLI::App& command, const std::string& name) {
  std::string line = fmt::format("{} [{}]", bold(name), italic("OPTIONS"));
  if (!parts_of(command).empty()) line += " " + italic("COMMAND") + " ...";
  for (const CLI::Option* argument : arguments_of(command)) {
    const std::string word = italic(argument->get_name(true)) + (argument->get_expected_max() > 1 ? " ..." : "");
    line += argument->get_required() ? " " + word : fmt::format(" [{}]", word);
  }
  return line;
}

/// Paragraphs of a footer. One that begins with "Title:" becomes a section.
std::string footer_sections(const std::string& footer) {
  std::string text;
  std::string_view rest = footer;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\n\n"), rest.size());
    std::string_view paragraph = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    const std::string_view first = paragraph.substr(0, paragraph.find('\n'));
    const std::size_t colon = first.find(": ") != std::string_view::npos ? first.find(": ") : first.rfind(':');
    if (colon == std::string_view::npos || colon > 40) {
      text += fmt::format(".PP\n{}\n", roff(paragraph));
      continue;
    }
    std::string_view body = paragraph.substr(colon + 1);
    const bool is_list = body.starts_with('\n');
    body.remove_prefix(std::min<std::size_t>(1, body.size()));
    text += section(upper(paragraph.substr(0, colon)), is_list ? verbatim(body) : roff(body));
  }
  return text;
}

std::string page(const std::string& name, std::string_view summary, std::string_view body) {
  return fmt::format(".TH {} 1 \"\" \"evo {}\" \"User Commands\"\n.nh\n.ad l\n", roff(upper(name)), EVO_VERSION) +
         section("NAME", fmt::format("{} \\- {}", roff(name), roff(summary))) + std::string(body);
}

std::string page_of_program(const CLI::App& app) {
  std::vector<std::string> groups;
  std::map<std::string, std::string> commands;  // By group.
  std::string pages;
  for (const CLI::App* command : parts_of(app)) {
    std::string& text = commands[command->get_group()];
    if (text.empty()) groups.push_back(command->get_group());
    text += fmt::format(".TP\n{}\n{}\n", bold(command->get_name()), roff(command->get_description()));
    pages += fmt::format("{}{}(1)", pages.empty() ? "" : ",\n", bold(man_page_name(command->get_name())));
  }
  std::string all;
  for (const std::string& group : groups) all += fmt::format(".SS {}\n{}", roff(group), commands[group]);
  return page("evo", "search for the fastest correct CUDA kernel of a task",
              section("SYNOPSIS", synopsis(app, "evo")) + section("DESCRIPTION", roff(app.get_description())) +
                  section("COMMANDS", all) + section("OPTIONS", options_text(app, true)) +
                  footer_sections(app.get_footer()) + section("SEE ALSO", pages));
}

std::string page_of_command(const CLI::App& command) {
  const std::string name = fmt::format("evo {}", command.get_name());
  std::string text = section("SYNOPSIS", synopsis(command, name));
  text += section("DESCRIPTION", roff(command.get_description()));
  if (const std::string arguments = arguments_text(command); !arguments.empty())
    text += section("ARGUMENTS", arguments);
  for (const CLI::App* part : parts_of(command)) {
    text += fmt::format(".SH {}\n{}\n.PP\n{}\n{}{}", roff(upper(part->get_name())),
                        synopsis(*part, fmt::format("{} {}", name, part->get_name())), roff(part->get_description()),
                        arguments_text(*part), options_text(*part, false));
  }
  text += section("OPTIONS", options_text(command, true));
  return page(man_page_name(command.get_name()), command.get_description(),
              text + footer_sections(command.get_footer()) + section("SEE ALSO", bold("evo") + "(1)"));
}

}  // namespace

std::string man_page_name(const std::string& command) {
  return command.empty() ? "evo" : "evo-" + command;
}

std::vector<std::string> listed_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : parts_of(app)) names.push_back(command->get_name());
  return names;
}

std::string man_page(const CLI::App& app, const std::string& command) {
  if (command.empty()) return page_of_program(app);
  const std::vector<const CLI::App*> commands = parts_of(app);
  const auto found = std::ranges::find(commands, command, [](const CLI::App* part) { return part->get_name(); });
  if (found == commands.end()) throw unknown_name("command", command, listed_commands(app));
  return page_of_command(**found);
}

}  // namespace evo::cli

#include "cli/shell/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "cli/shell/man_page.h"
#include "cli/sources/templates.h"
#include "cli/text/suggest.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/hosts/devices.h"

namespace evo::embedded {
extern const std::string_view completion_bash;
extern const std::string_view completion_zsh;
extern const std::string_view completion_fish;
}  // namespace evo::embedded

namespace evo::cli {
namespace {

/// Where the last word of an unfinished command line stands.
struct Place {
  const CLI::App* command = nullptr;
  const CLI::Option* option = nullptr;  ///< Whose value the word is, or null.
  std::string word;
  std::size_t arguments = 0;                ///< Those of the command that stand before it.
  bool only_arguments = false;              ///< After "--".
  std::set<const CLI::Option*> given = {};  ///< Options before it.
  std::string templates = {};               ///< What --templates names before it.
};

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

/// Whether the word behind an option is another option, because the value may be left out.
bool leaves_out_value(const CLI::Option* option, const std::string& word) {
  return option != nullptr && option->get_expected_min() == 0 && word.starts_with('-');
}

const CLI::App* part_named(const CLI::App& command, const std::string& name) {
  const auto parts = command.get_subcommands([&](const CLI::App* part) { return part->get_name() == name; });
  return parts.empty() || name.empty() ? nullptr : parts.front();
}

Place place_of_last(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{.command = &app, .word = words.back()};
  for (auto word = words.begin(); word + 1 != words.end(); ++word) {
    if (leaves_out_value(place.option, *word)) place.option = nullptr;
    if (place.option != nullptr) {
      if (place.option->check_name("--templates")) place.templates = *word;
      place.option = nullptr;
    } else if (!place.only_arguments && *word == "--") {
      place.only_arguments = true;
    } else if (!place.only_arguments && word->size() > 1 && word->front() == '-') {
      const CLI::Option* option = place.command->get_option_no_throw(word->substr(0, word->find('=')));
      if (option == nullptr) continue;
      place.given.insert(option);
      if (takes_value(option) && word->find('=') == std::string::npos) place.option = option;
    } else if (const CLI::App* part = part_named(*place.command, *word); part != nullptr && place.arguments == 0) {
      place.command = part;
    } else if (!(place.command == &app && *word == "help")) {  // `evo help run` is `evo run --help`.
      ++place.arguments;
    }
  }
  if (leaves_out_value(place.option, place.word)) place.option = nullptr;
  const std::size_t equals = place.word.find('=');
  if (place.option == nullptr && !place.only_arguments && place.word.starts_with("--") && equals != std::string::npos) {
    place.option = place.command->get_option_no_throw(place.word.substr(0, equals));
    place.word.erase(0, equals + 1);
    place.only_arguments = place.option == nullptr;
  }
  return place;
}

bool is_value(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// Types of options and names of arguments, other than FILE and FILE.cu, that stand for the name of a file.
constexpr std::array<std::string_view, 5> kFiles = {"SPACE", "SWEEP", "JSON", "FROM", "OTHER"};

class Answer {
 public:
  explicit Answer(const Place& place) : place_(place) {}

  /// What the type of an option or the name of an argument stands for.
  void add_type(std::string_view type) {
    constexpr std::string_view kList = ",...";
    if (type.ends_with(kList)) {
      type.remove_suffix(kList.size());
      before_ = place_.word.substr(0, place_.word.rfind(',') + 1);
    }
    for (const std::string& part : split(type, '|')) add_part(part);
  }

  void add_options() {
    for (const CLI::Option* option : place_.command->get_options()) {
      const bool repeats = takes_value(option) && option->get_expected_max() > 1;
      if (option->get_group().empty() || (place_.given.contains(option) && !repeats)) continue;
      for (const std::string& name : option->get_lnames()) add("--" + name, option->get_description());
    }
  }

  void add_commands() {
    for (const CLI::App* part : place_.command->get_subcommands([](const CLI::App*) { return true; })) {
      if (!part->get_group().empty()) add(part->get_name(), part->get_description());
    }
  }

  Completion completion;

 private:
  void add_part(const std::string& part) {
    if (part == "TASK") {
      for (const std::string& name : task_folder_names(place_.templates)) add(name);
    } else if (part == "DEVICE") {
      add("auto", "the first of these");
      for (const DeviceInfo& device : all_devices()) add(device.id, device.name);
    } else if (part == "DIR") {
      completion.paths = Completion::Paths::folders;
    } else if (part == "COMMAND") {
      for (const std::string& name : listed_commands(*place_.command->get_parent())) add(name);
    } else if (part.starts_with("FILE") || std::ranges::find(kFiles, part) != kFiles.end()) {
      completion.paths = Completion::Paths::files;
    } else if (is_value(part)) {
      add(part);
    }
  }

  void add(const std::string& value, const std::string& about = "") {
    const std::string whole = before_ + value;
    if (!whole.starts_with(place_.word)) return;
    std::string line = about;
    std::ranges::replace_if(
        line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    completion.candidates.push_back({whole, line});
  }

  const Place& place_;
  std::string before_;  ///< The finished part of a list.
};

/// The name of the argument in this place; empty when the command takes no further one.
std::string argument_name(const Place& place) {
  std::size_t before = place.arguments;
  for (const CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    if (before < most) return option->get_name(true);
    before -= most;
  }
  return "";
}

}  // namespace

Completion complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const Place place = place_of_last(app, words);
  Answer answer(place);
  try {
    if (place.option != nullptr) {
      answer.add_type(place.option->get_type_name());
    } else if (!place.only_arguments && place.word.starts_with('-')) {
      answer.add_options();
    } else {
      if (place.arguments == 0) answer.add_commands();
      answer.add_type(argument_name(place));
      const bool nothing = answer.completion.candidates.empty() && answer.completion.paths == Completion::Paths::none;
      if (nothing && place.word.empty() && !place.only_arguments) answer.add_options();
    }
  } catch (const Error&) {
    // No templates, say: there is nothing to offer, and the command itself will say why.
  }
  return answer.completion;
}

std::string completion_lines(const Completion& completion) {
  static constexpr const char* kPaths[] = {"words\n", "files\n", "folders\n"};
  std::string text = kPaths[static_cast<int>(completion.paths)];
  for (const Completion::Candidate& candidate : completion.candidates)
    text.append(candidate.value).append("\t").append(candidate.about).append("\n");
  return text;
}

std::vector<std::string> shell_names() {
  return {"bash", "zsh", "fish"};
}

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return std::string(embedded::completion_bash);
  if (shell == "zsh") return std::string(embedded::completion_zsh);
  if (shell == "fish") return std::string(embedded::completion_fish);
  throw unknown_name("shell", shell, shell_names());
}

}  // namespace evo::cli

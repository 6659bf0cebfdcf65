#include "cli/rivals/rival_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "cli/sources/shipped_places.h"
#include "cli/text/shell_words.h"
#include "cli/text/suggest.h"
#include "engine/base/error.h"

namespace evo::cli {

namespace fs = std::filesystem;

namespace {

bool is_one_word(const std::string& text) {
  return text.find_first_of(" \t/'\"$|;&") == std::string::npos;
}

}  // namespace

fs::path rivals_folder() {
  std::error_code error;
  if (const char* named = std::getenv("EVO_RIVALS"); named != nullptr && *named != '\0') {
    if (fs::is_directory(named, error)) return named;
    throw usage_error(fmt::format("EVO_RIVALS: '{}' is no folder", named));
  }
  std::vector<std::string> looked;
  for (const fs::path& place : shipped_places("rivals")) {
    if (fs::is_directory(place, error)) return place;
    looked.push_back(place.string());
  }
  throw usage_error(
      fmt::format("no rivals found (looked in {}): name their folder with EVO_RIVALS, or a command with --rival",
                  fmt::join(looked, ", ")));
}

std::vector<RivalCommand> shipped_rivals() {
  const fs::path folder = rivals_folder();
  std::vector<RivalCommand> rivals;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& file = entry->path();
    if (!entry->is_regular_file(error) || ::access(file.c_str(), X_OK) != 0) continue;
    rivals.push_back({file.stem().string(), shell_word(fs::absolute(file).string())});
  }
  if (error) throw usage_error(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  std::ranges::sort(rivals, {}, &RivalCommand::label);
  return rivals;
}

std::vector<RivalCommand> rivals_named(const std::vector<std::string>& names) {
  if (names.empty()) return shipped_rivals();
  std::vector<RivalCommand> rivals;
  for (const std::string& name : names) {
    if (!is_one_word(name)) {
      rivals.push_back({name, name});
      continue;
    }
    const std::vector<RivalCommand> shipped = shipped_rivals();
    const auto found = std::ranges::find(shipped, name, &RivalCommand::label);
    if (found == shipped.end()) {
      std::vector<std::string> known;
      for (const RivalCommand& one : shipped) known.push_back(one.label);
      throw unknown_name("rival", name, known);
    }
    rivals.push_back(*found);
  }
  return rivals;
}

}  // namespace evo::cli

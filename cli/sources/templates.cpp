#include "cli/sources/templates.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>

#include "cli/sources/shipped_places.h"
#include "cli/text/files.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestTemplateBytes = 1 << 20;
constexpr std::size_t kMostFiles = 10'000;
constexpr std::size_t kMostEntries = 100'000;  // Files of any kind. A home folder that was named by mistake has more.

std::set<std::string> task_folders(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->path() / "task.json", ignored)) names.insert(entry->path().filename().string());
  }
  return names;
}

bool holds_a_task(const fs::path& folder) {
  return !task_folders(folder).empty();
}

fs::path named_folder(const std::string& name, const std::string& origin) {
  std::error_code error;
  if (!fs::is_directory(name, error)) {
    throw usage_error(fmt::format("{}: '{}' is no folder", origin, name));
  }
  if (!holds_a_task(name)) {
    throw usage_error(fmt::format("{}: no task in '{}' (a task is a folder with a task.json)", origin, name));
  }
  return name;
}

/// The first usual place that holds a task. `looked`: all that were tried, when there is none.
std::optional<fs::path> shipped_templates(std::string& looked) {
  for (const fs::path& place : shipped_places("templates")) {
    if (holds_a_task(place)) return place;
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", place.string());
  }
  return std::nullopt;
}

/// In source/ of a task lie the author's files, which are called as the author likes.
bool is_template(const fs::path& file, const fs::path& root) {
  const std::string extension = file.extension().string();
  const fs::path relative = file.lexically_relative(root);
  if (std::distance(relative.begin(), relative.end()) > 2 && *std::next(relative.begin()) == "source") return true;
  return extension == ".json" || extension == ".cu" || extension == ".cuh" || extension == ".npy" ||
         extension == ".bin" || extension == ".py";
}

bool is_inside(const fs::path& file, const fs::path& root) {
  const fs::path relative = file.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

/// Throws usage_error for a file that must not be read.
void check_file(const fs::path& file, const fs::path& root) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) throw usage_error(fmt::format("cannot read {}: {}", file.string(), error.message()));
  if (!is_inside(real, root)) {
    throw usage_error(
        fmt::format("{} is a link that leaves the templates folder: copy the file instead", file.string()));
  }
  const std::uintmax_t bytes = fs::file_size(real, error);
  if (error) throw usage_error(fmt::format("cannot read {}: {}", file.string(), error.message()));
  if (bytes > kLargestTemplateBytes) {
    throw usage_error(
        fmt::format("{} has {} bytes: a template has at most {}", file.string(), bytes, kLargestTemplateBytes));
  }
}

}  // namespace

fs::path find_templates(const std::string& wish) {
  if (!wish.empty()) return named_folder(wish, "--templates");
  if (const char* named = std::getenv("EVO_TEMPLATES"); named != nullptr && *named != '\0') {
    return named_folder(named, "EVO_TEMPLATES");
  }
  std::string looked;
  if (const auto shipped = shipped_templates(looked)) return *shipped;
  throw usage_error(fmt::format("no templates found (looked in {}): name the folder with --templates DIR", looked));
}

SourceTree read_templates(const fs::path& folder) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) throw usage_error(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  SourceTree tree;
  std::size_t entries = 0;
  fs::recursive_directory_iterator entry(root, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (++entries > kMostEntries) {
      throw usage_error(
          fmt::format("{} has more than {} files: is it a templates folder?", folder.string(), kMostEntries));
    }
    const fs::path& file = entry->path();
    if (file.filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (!is_template(file, root) || fs::is_directory(file, ignored)) continue;
    check_file(file, root);
    if (!fs::is_regular_file(file, ignored)) continue;
    if (tree.size() == kMostFiles) {
      throw usage_error(fmt::format("{} has more than {} templates", folder.string(), kMostFiles));
    }
    tree.emplace(file.lexically_relative(root).generic_string(), read_task_file(file, kLargestTemplateBytes));
  }
  if (error) throw usage_error(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return tree;
}

SourceTree with_shipped(SourceTree tree) {
  std::string looked;
  const auto shipped = shipped_templates(looked);
  if (!shipped) return tree;
  std::set<std::string> own;  // The folders of the tasks that stand in the place of a shipped one.
  for (const auto& [path, content] : tree) own.insert(path.substr(0, path.find('/')));
  own.erase("include");
  for (auto& [path, content] : read_templates(*shipped))
    if (!own.contains(path.substr(0, path.find('/')))) tree.emplace(path, std::move(content));
  return tree;
}

SourceTree load_templates(const std::string& wish) {
  return with_shipped(read_templates(find_templates(wish)));
}

std::vector<std::string> task_folder_names(const std::string& wish) {
  std::string looked;
  std::set<std::string> names = task_folders(find_templates(wish));
  if (const auto shipped = shipped_templates(looked)) names.merge(task_folders(*shipped));
  return {names.begin(), names.end()};
}

}  // namespace evo::cli

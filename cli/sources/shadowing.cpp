#include "cli/sources/shadowing.h"

#include <fmt/format.h>

#include <map>
#include <system_error>

#include "cli/sources/shipped_places.h"
#include "cli/sources/templates.h"
#include "engine/base/error.h"
#include "engine/task/task.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

/// Empty where none of the name is shipped.
std::string found_hash(const std::string& task) {
  for (const fs::path& place : shipped_places("templates")) {
    std::error_code error;
    if (!fs::is_regular_file(place / task / "task.json", error)) continue;
    try {
      return load_task(read_templates(place), task).hash;
    } catch (const Error&) {
      return {};
    }
  }
  return {};
}

/// The same, looked for once.
std::string shipped_hash(const std::string& task) {
  static std::map<std::string, std::string> known;
  if (task.empty() || task.find('/') != std::string::npos || task.front() == '.') return {};
  auto found = known.find(task);
  if (found == known.end()) found = known.emplace(task, found_hash(task)).first;
  return found->second;
}

}  // namespace

bool is_shipped(const std::string& task, const std::string& hash) {
  return !hash.empty() && shipped_hash(task) == hash;
}

std::string shadowing_remark(const std::string& task, const std::string& hash) {
  const std::string shipped = shipped_hash(task);
  if (shipped.empty() || shipped == hash) return {};
  return fmt::format("not the {} that is shipped with this evo", task);
}

}  // namespace evo::cli

#include "cli/subject/short_form_file.h"

#include <cstdint>
#include <filesystem>

#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/task/family.h"
#include "engine/task/task.h"

namespace evo::cli {
namespace {

constexpr std::uintmax_t kLargestFileBytes = 1 << 20;

}  // namespace

ShortForm load_short_form(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const ReadFile read = [&](const std::string& path) {
    return read_file(path == file ? std::filesystem::path(file) : folder / path, kLargestFileBytes);
  };
  ShortForm form = read_short_form(file, read);
  try {
    load_families(form.files, load_task(form.files, form.task));
  } catch (const Error& error) {
    throw usage_error(form.in_authors_places(error.what()));
  }
  return form;
}

bool is_short_form(const std::string& subject) {
  return subject.ends_with(".json");
}

}  // namespace evo::cli

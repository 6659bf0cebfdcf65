#include "cli/sources/short_form_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/task/family.h"
#include "engine/task/task.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/toolkit_headers.h"

namespace evo::cli {
namespace {

constexpr std::uintmax_t kLargestAuthorFileBytes = 1 << 20;

std::vector<std::filesystem::path> header_folders() {
  try {
    const NvrtcEnvironment environment = NvrtcEnvironment::of_process();
    return toolkit_include_folders(environment, load_nvrtc(environment).path);
  } catch (const Error&) {
    return {};  // What compiles says so.
  }
}

}  // namespace

bool is_known_header(const std::string& name) {
  if (std::ranges::any_of(standard_headers(), [&](const HeaderText& header) { return name == header.name; }))
    return true;
  static const std::vector<std::filesystem::path> folders = header_folders();
  std::error_code ignored;
  return std::ranges::any_of(folders,
                             [&](const auto& folder) { return std::filesystem::exists(folder / name, ignored); });
}

ShortForm load_short_form(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const ReadFile read = [&](const std::string& path) {
    return read_file(path == file ? std::filesystem::path(file) : folder / path, kLargestAuthorFileBytes);
  };
  ShortForm form = read_short_form(file, read, is_known_header);
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

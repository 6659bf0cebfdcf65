#include "cli/sources/short_form_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/short_form/author_files.h"
#include "engine/task/family.h"
#include "engine/task/task.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/toolkit_headers.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestAuthorFileBytes = 1 << 20;

/// A file that the short form or one of its files names. It comes from below the short form's folder, links followed:
/// its text is stored, exported, and with --llm sent away.
std::string read_author_file(const fs::path& folder, const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(folder / path, error);
  if (error) throw usage_error(fmt::format("{} is not a file", (folder / path).lexically_normal().string()));
  const fs::path root = fs::canonical(folder, error);
  const fs::path inside = file.lexically_relative(root);
  if (error || inside.empty() || *inside.begin() == "..")
    throw RefusedFile(
        fmt::format("{} lies outside of {}, the short form's folder: put a copy there", file.string(), root.string()));
  return read_task_file(file, kLargestAuthorFileBytes);
}

std::vector<fs::path> header_folders() {
  try {
    const NvrtcEnvironment environment = NvrtcEnvironment::of_process();
    return toolkit_include_folders(environment, load_nvrtc(environment).path);
  } catch (const Error&) {
    return {};  // What compiles says so.
  }
}

/// What it makes is a task; otherwise a usage_error in the author's words.
ShortForm checked(ShortForm form) {
  try {
    load_families(form.files, load_task(form.files, form.task));
  } catch (const Error& error) {
    throw usage_error(form.in_authors_places(error.what()));
  }
  return form;
}

fs::path folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

bool is_known_header(const std::string& name) {
  if (name.starts_with('/') || name.find("..") != std::string::npos) return false;
  if (std::ranges::any_of(standard_headers(), [&](const HeaderText& header) { return name == header.name; }))
    return true;
  static const std::vector<fs::path> folders = header_folders();
  std::error_code ignored;
  return std::ranges::any_of(folders, [&](const auto& folder) { return fs::exists(folder / name, ignored); });
}

ShortForm load_short_form(const std::string& file) {
  if (is_cuda_source(file)) return load_plain_kernel({file, "", {}}).form;
  const ReadFile read = [&](const std::string& path) {
    return path == file ? read_text_file(file, kLargestAuthorFileBytes) : read_author_file(folder_of(file), path);
  };
  return checked(read_short_form(file, read, is_known_header));
}

PlainSubject load_plain_kernel(PlainKernel kernel) {
  const fs::path path = kernel.file;
  kernel.file = path.filename().string();
  const PlainForm plain =
      plain_form(kernel, [&](const std::string& name) { return read_author_file(folder_of(path.string()), name); });
  // The author has written one file: of the made ones nobody knows.
  const auto in_authors_file = [&](std::string text) {
    for (const std::string& made : plain.made)
      for (std::size_t at = text.find(made); at != std::string::npos; at = text.find(made, at + path.string().size()))
        text.replace(at, made.size(), path.string());
    return text;
  };
  try {
    ShortForm form = read_short_form(plain.file, plain.read, is_known_header);
    for (auto& [made, author] : form.origins) author = in_authors_file(author);
    for (const Choice& choice : plain.choices) form.own[choice.gene] = choice.own;
    return {checked(std::move(form)), plain.choices};
  } catch (const Error& error) {
    throw usage_error(in_authors_file(error.what()));
  }
}

bool is_short_form(const std::string& subject) {
  return subject.ends_with(".json");
}

bool is_cuda_source(const std::string& subject) {
  return subject.ends_with(".cu") || subject.ends_with(".cuh");
}

}  // namespace evo::cli

#include "engine/short_form/author_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "engine/base/comments.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/source/host_code.h"
#include "engine/source/preprocessor_lines.h"

namespace evo {
namespace {

// More are no kernel; each file of a chain of includes also takes its part of the stack.
constexpr std::size_t kMostAuthorFiles = 1'000;
constexpr std::size_t kMostAuthorBytes = std::size_t{16} << 20;

std::string normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().generic_string();
}

/// Whatever reads the files: a folder is made of them, out of which no path may lead.
void refuse_path(const std::string& path) {
  // It stands in an include's quotes.
  if (std::ranges::any_of(path, [](unsigned char c) { return c < ' ' || c == '"' || c == '\\' || c == 0x7f; }))
    throw RefusedFile(fmt::format("'{}' has a character that no #include can name: rename the file", path));
  if (path.starts_with('/') || path.starts_with(".."))
    throw RefusedFile(fmt::format("{} does not lie below the short form's folder: put a copy there", path));
}

/// Whether the lines of a source so far stand under an #if whose outcome is not known here. The guard of a header is
/// none.
class Conditionals {
 public:
  void read(std::string_view line) {
    line = trim(line);
    if (!line.starts_with('#')) return;
    const std::string_view directive = trim(line.substr(1));
    if (directive.starts_with("define") && guard_ == 0) guard_ = open_ > 0 ? open_ : -1;
    if (directive.starts_with("if")) {
      ++open_;
      if (!directive.starts_with("ifndef")) guard_ = guard_ == 0 ? -1 : guard_;
    } else if (directive.starts_with("endif")) {
      if (--open_ == 0) guard_ = -1;
    } else if (guard_ == 0 && !directive.starts_with("pragma")) {
      guard_ = -1;
    }
  }
  bool any() const { return open_ > (guard_ == 1 ? 1 : 0); }

 private:
  int open_ = 0;
  int guard_ = 0;  // The depth of the first #ifndef with its #define behind it; -1: the source has no guard.
};

// A file is included as it is, which a template is only without directives.
void refuse_template_syntax(const std::string& file, std::string_view line, std::size_t number) {
  if (line.find("${") != std::string_view::npos || trim(line).starts_with("//%"))
    throw usage_error(
        fmt::format("{}:{}: '${{' and '//%' are template syntax: write a task folder (evo tune --expand) to use them",
                    file, number));
}

}  // namespace

void AuthorFiles::take(const std::string& path) {
  const std::string known = normal(path);
  if (files_.contains(known)) return;
  if (files_.size() == kMostAuthorFiles)
    throw RefusedFile(fmt::format("a kernel has at most {} files with all that they include", kMostAuthorFiles));
  std::string text = read_(path);
  refuse_path(known);
  bytes_ += text.size();
  if (bytes_ > kMostAuthorBytes)
    throw RefusedFile(
        fmt::format("a kernel's files have at most {} bytes with all that they include", kMostAuthorBytes));
  File& file = files_[known];
  file.text = has_host_code(text) ? device_code(text) : std::move(text);
  take_includes(known, file);
}

void AuthorFiles::take_includes(const std::string& path, File& file) {
  std::size_t number = 0;
  bool in_comment = false;
  Conditionals conditionals;
  for (const std::string& line : split(file.text, '\n')) {
    ++number;
    refuse_template_syntax(path, line, number);
    const std::string code = without_comments(line, in_comment);
    conditionals.read(code);
    const std::string name = quoted_include(code);
    if (name.empty()) continue;
    const std::string included = path_beside(path, name);
    const std::string place = fmt::format("{}:{}: #include \"{}\": ", path, number, name);
    try {
      take(included);
      file.includes.push_back(included);
    } catch (const RefusedFile& error) {
      throw usage_error(place + error.what());
    } catch (const Error& error) {
      if (files_.contains(included)) throw;  // something in it is wrong
      // What the compiler finds, or never reads, is its own affair.
      if (!conditionals.any() && !(known_ && known_(name))) throw usage_error(place + error.what());
    }
  }
}

std::string AuthorFiles::whole_text(const std::string& path) const {
  std::string text;
  std::set<std::string> seen;
  std::vector<std::string> waiting = {normal(path)};
  while (!waiting.empty()) {
    const std::string next = waiting.back();
    waiting.pop_back();
    if (!seen.insert(next).second) continue;
    const File& file = files_.at(next);
    text += file.text + "\n";
    waiting.insert(waiting.end(), file.includes.begin(), file.includes.end());
  }
  return text;
}

std::vector<AuthorFiles::Placed> AuthorFiles::placed() const {
  std::vector<std::vector<std::string>> all;
  for (const auto& [path, file] : files_) all.push_back(split(path, '/'));
  // What all have in common says nothing.
  const auto shared = [&] {
    return std::ranges::all_of(
        all, [&](const auto& parts) { return parts.size() > 1 && parts.front() == all.front().front(); });
  };
  while (!all.empty() && shared())
    for (auto& parts : all) parts.erase(parts.begin());
  std::vector<Placed> files;
  std::size_t number = 0;
  for (const auto& [path, file] : files_)
    files.push_back({path, fmt::format("{}", fmt::join(all[number++], "/")), file.text});
  return files;
}

std::string AuthorFiles::inside(const std::string& path) const {
  const std::vector<Placed> files = placed();
  return std::ranges::find(files, normal(path), &Placed::author)->inside;
}

}  // namespace evo

#include "cli/sources/installed_docs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/sources/shipped_places.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

/// The folder with the pages; empty in a checkout, where they are as near as the program.
fs::path installed_docs() {
  const std::vector<fs::path> places = shipped_places("docs");
  std::error_code error;
  for (const fs::path& place : places) {
    const bool installed = place == places.front() || place.parent_path().filename() == "evo";
    if (installed && fs::is_directory(place, error)) return place;
  }
  return {};
}

}  // namespace

std::string with_places_of_docs(std::string_view text) {
  constexpr std::string_view kDocs = "docs/";
  const fs::path folder = text.find(kDocs) == std::string_view::npos ? fs::path() : installed_docs();
  if (folder.empty()) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(kDocs), text.size());
    const bool alone = at == 0 || (!is_identifier_character(text[at - 1]) && text[at - 1] != '/');
    result += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    std::size_t end = kDocs.size();
    while (end < text.size() && (is_identifier_character(text[end]) || text[end] == '.' || text[end] == '/')) ++end;
    const std::string_view page = text.substr(kDocs.size(), end - kDocs.size());
    const std::string_view name = page.substr(0, page.find(".md") == page.npos ? 0 : page.find(".md") + 3);
    std::error_code error;
    const bool there = alone && !name.empty() && fs::is_regular_file(folder / name, error);
    result += there ? (folder / name).string() : std::string(kDocs);
    text.remove_prefix(there ? kDocs.size() + name.size() : kDocs.size());
  }
  return result;
}

}  // namespace evo::cli

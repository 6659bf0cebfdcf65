#include "evaluator/writable_globals.h"

#include <algorithm>
#include <cctype>

namespace evo {
namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

/// The declared name: the last identifier before "[", "=", "," or ";".
std::string_view declared_name(std::string_view declaration) {
  std::string_view head = declaration.substr(0, declaration.find_first_of("[=,;"));
  while (!head.empty() && !is_name_character(head.back())) head.remove_suffix(1);
  std::size_t begin = head.size();
  while (begin > 0 && is_name_character(head[begin - 1])) --begin;
  return head.substr(begin);
}

/// Whether a statement at module scope declares a variable in global memory: linkage words, then ".global".
bool declares_global(std::string_view line) {
  for (std::string_view linkage : {".extern", ".visible", ".weak", ".common"}) {
    if (!line.starts_with(linkage)) continue;
    line.remove_prefix(linkage.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  }
  return line.starts_with(".global");
}

/// Whether `line` names the variable as a whole word.
bool names(std::string_view line, std::string_view variable) {
  for (std::size_t at = line.find(variable); at != std::string_view::npos; at = line.find(variable, at + 1)) {
    const std::size_t end = at + variable.size();
    const bool begins = at == 0 || !is_name_character(line[at - 1]);
    const bool ends = end == line.size() || !is_name_character(line[end]);
    if (begins && ends) return true;
  }
  return false;
}

/// A load by name: "ld.global.nc.u32 %r1, [table+4];", perhaps predicated.
bool only_loads(std::string_view line) {
  if (line.starts_with("@")) {
    line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  }
  return line.starts_with("ld.global");
}

std::vector<std::string_view> trimmed_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::vector<std::string> writable_globals(std::string_view ptx) {
  const std::vector<std::string_view> lines = trimmed_lines(ptx);
  std::vector<std::string> written;
  for (const std::string_view declaration : lines) {
    if (!declares_global(declaration)) continue;
    const std::string_view name = declared_name(declaration);
    const bool may_be_written = std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
      return line.data() != declaration.data() && names(line, name) && !only_loads(line);
    });
    if (may_be_written) written.emplace_back(name);
  }
  return written;
}

}  // namespace evo

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

bool is_string_literal(std::string_view name) {
  return name.starts_with("$str") || name.starts_with("__unnamed_");
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

}  // namespace

std::vector<std::string> writable_globals(std::string_view ptx) {
  std::vector<std::string> names;
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!declares_global(line)) continue;
    const std::string_view name = declared_name(line);
    if (!is_string_literal(name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace evo

#include "evaluator/compile/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include "engine/base/stretches.h"

namespace evo::ptx_text {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Where a comment or string that begins at `at` ends; `at` itself where none begins.
std::size_t end_of_remark(std::string_view ptx, std::size_t at) {
  const auto behind = [&](std::string_view closing, std::size_t from) {
    const std::size_t found = ptx.find(closing, from);
    return found == std::string_view::npos ? ptx.size() : found + closing.size();
  };
  if (ptx.substr(at).starts_with("//")) return behind("\n", at);
  if (ptx.substr(at).starts_with("/*")) return behind("*/", at + 2);
  if (ptx[at] == '"') return behind("\"", at + 1);
  return at;
}

/// Whether a brace behind this opens a block; others enclose vectors and initial values.
bool opens_block(std::string_view head) {
  return head.empty() || head.ends_with(":") || head.find(".entry") != std::string_view::npos ||
         head.find(".func") != std::string_view::npos || head.find(".section") != std::string_view::npos;
}

std::string_view leading_name(std::string_view text) {
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_name_character) - text.begin()));
}

/// Without the list in parentheses that it may begin with.
std::string_view behind_list(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('(')) return text;
  return trimmed(text.substr(std::min(text.find(')'), text.size() - 1) + 1));
}

/// NAME in ".visible .entry NAME(...)" or ".func (.param .b32 r) NAME(...)", behind the directive; empty where it is
/// missing.
std::string_view name_behind(std::string_view directive, std::string_view head) {
  const std::size_t at = head.find(directive);
  return at == std::string_view::npos ? std::string_view()
                                      : leading_name(behind_list(head.substr(at + directive.size())));
}

constexpr std::string_view kEntry = ".entry", kFunction = ".func";

/// A kernel or function as its statements show it.
struct Routine {
  bool is_kernel = false;
  bool waits = false;          ///< By griddepcontrol.wait.
  bool asks_for_grid = false;  ///< For the address of the grid's barrier.
  std::set<std::string> calls;
  bool calls_pointer = false;
};

std::map<std::string, Routine> routines(std::string_view ptx) {
  const std::string text = without_remarks(ptx);
  std::map<std::string, Routine> found;
  Routine* current = nullptr;
  for (const std::string_view statement : statements(text)) {
    const bool entry = statement.find(kEntry) != std::string_view::npos;
    if (entry || statement.find(kFunction) != std::string_view::npos) {
      current = &found[std::string(name_behind(entry ? kEntry : kFunction, statement))];
      current->is_kernel = entry;
    }
    const auto instruction = [&](std::string_view opcode) {
      if (statement.find(opcode) == std::string_view::npos) return std::string_view();
      const std::string_view whole = instruction_of(statement);
      return whole.starts_with(opcode) ? whole : std::string_view();
    };
    if (current == nullptr) continue;
    if (!instruction("griddepcontrol.wait").empty()) current->waits = true;
    for (const std::string_view half : {"%envreg1", "%envreg2"}) {
      const std::size_t at = statement.find(half);
      if (at != std::string_view::npos && leading_name(statement.substr(at)) == half) current->asks_for_grid = true;
    }
    if (std::string_view call = instruction("call"); !call.empty()) {
      // "call.uni (result), function, (arguments)"
      call = behind_list(call.substr(std::min(call.find_first_of(" \t\r\n("), call.size())));
      if (call.starts_with(',')) call = trimmed(call.substr(1));
      if (call.starts_with('%'))
        current->calls_pointer = true;
      else
        current->calls.emplace(leading_name(call));
    }
  }
  return found;
}

/// What a routine reaches by calls.
std::set<std::string> reached_from(const std::map<std::string, Routine>& all, const std::string& from) {
  std::set<std::string> reached;
  std::vector<std::string> open = {from};
  const auto reach = [&](const std::string& name) {
    if (reached.insert(name).second) open.push_back(name);
  };
  while (!open.empty()) {
    const auto found = all.find(open.back());
    open.pop_back();
    if (found == all.end()) continue;
    for (const std::string& name : found->second.calls) reach(name);
    if (!found->second.calls_pointer) continue;
    for (const auto& [name, routine] : all)
      if (!routine.is_kernel) reach(name);
  }
  return reached;
}

/// Kernels of which this is true, or of a function that they call.
std::set<std::string> kernels_that(bool Routine::*trait, std::string_view ptx) {
  const std::map<std::string, Routine> all = routines(ptx);
  const auto has_trait = [&](const std::string& name) {
    const auto found = all.find(name);
    return found != all.end() && found->second.*trait;
  };
  std::set<std::string> found;
  for (const auto& [name, routine] : all)
    if (routine.is_kernel && (routine.*trait || std::ranges::any_of(reached_from(all, name), has_trait)))
      found.insert(name);
  return found;
}

}  // namespace

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

bool is_blank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string without_remarks(std::string_view ptx) {
  std::string text(ptx);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = end_of_remark(ptx, at);
    if (end == at) continue;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end - 1;
  }
  return text;
}

std::vector<std::string_view> statements(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  int depth = 0;  // of braces within the statement
  const auto end_at = [&](std::size_t at) {
    if (const auto statement = trimmed(text.substr(begin, at - begin)); !statement.empty()) found.push_back(statement);
    begin = at + 1;
    depth = 0;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ';') {
      end_at(at);
    } else if (text[at] == '{') {
      if (depth == 0 && opens_block(trimmed(text.substr(begin, at - begin))))
        end_at(at);
      else
        ++depth;
    } else if (text[at] == '}') {
      if (depth == 0)
        end_at(at);
      else
        --depth;
    }
  }
  end_at(text.size());
  return found;
}

std::string_view instruction_of(std::string_view statement) {
  static const std::regex kAhead(
      R"((\s*[\w$%]+\s*:(?!:)|\s*\.loc(\s+\d+){3}(\s*,\s*function_name\s+[\w$]+(\s*\+\s*\d+)?)?)"
      R"((\s*,\s*inlined_at(\s+\d+){3})?(?=\s)|\s*@!?[\w$%]+(?=\s))*\s*)");
  std::cmatch ahead;
  if (statement.size() > kLongestStretch) return statement;
  std::regex_search(statement.data(), statement.data() + statement.size(), ahead, kAhead,
                    std::regex_constants::match_continuous);
  return statement.substr(static_cast<std::size_t>(ahead.length()));
}

std::vector<std::string> kernels(std::string_view ptx) {
  std::vector<std::string> found;
  for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at + 1)) {
    // Only linking directives stand ahead of it in its line: neither a comment nor a string.
    const std::size_t line = ptx.rfind('\n', at) + 1;
    const std::string_view ahead = trimmed(ptx.substr(line, at - line));
    if (!ahead.empty() && ahead != ".visible" && ahead != ".weak") continue;
    const std::string_view head = ptx.substr(at, ptx.find_first_of("({", at) - at);
    if (const std::string_view name = name_behind(kEntry, head); !name.empty()) found.emplace_back(name);
  }
  return found;
}

std::set<std::string> waiting_kernels(std::string_view ptx) {
  return kernels_that(&Routine::waits, ptx);
}

std::set<std::string> cooperative_kernels(std::string_view ptx) {
  return kernels_that(&Routine::asks_for_grid, ptx);
}

std::set<std::string> reached_routines(std::string_view ptx, const std::set<std::string>& kernels) {
  const std::map<std::string, Routine> all = routines(ptx);
  std::set<std::string> reached = kernels;
  for (const std::string& kernel : kernels) reached.merge(reached_from(all, kernel));
  return reached;
}

std::set<int> source_lines(std::string_view ptx, const std::set<std::string>& routines, std::string_view file) {
  static const std::regex kFile(R"-(\.file\s+(\d+)\s+"([^"]*)")-");
  static const std::regex kPlace(R"((?:\.loc|inlined_at)\s+(\d+)\s+(\d+))");
  using Found = std::regex_iterator<std::string_view::const_iterator>;
  std::set<std::string> numbers;
  for (std::size_t at = ptx.find(".file"); at != std::string_view::npos; at = ptx.find(".file", at + 1)) {
    const std::string_view line = ptx.substr(at, std::min(ptx.find('\n', at) - at, kLongestStretch));
    std::cmatch found;
    if (!std::regex_search(line.data(), line.data() + line.size(), found, kFile)) continue;
    const std::string path = found.str(2);
    if (path.substr(path.rfind('/') + 1) == file) numbers.insert(found.str(1));
  }
  const std::string text = without_remarks(ptx);
  std::set<int> lines;
  bool wanted = false;
  for (const std::string_view statement : statements(text)) {
    const bool entry = statement.find(kEntry) != std::string_view::npos;
    if (entry || statement.find(kFunction) != std::string_view::npos)
      wanted = routines.contains(std::string(name_behind(entry ? kEntry : kFunction, statement)));
    if (!wanted || statement.find(".loc") == std::string_view::npos) continue;
    if (statement.size() > kLongestStretch) continue;
    for (Found found(statement.begin(), statement.end(), kPlace), end; found != end; ++found)
      if (numbers.contains(found->str(1))) lines.insert(std::stoi(found->str(2)));
  }
  return lines;
}

}  // namespace evo::ptx_text

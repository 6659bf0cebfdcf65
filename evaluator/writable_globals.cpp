#include "evaluator/writable_globals.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace evo {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

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

/// The text with blanks in place of comments and strings.
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

/// Whether a brace behind this opens a block; others enclose vectors and initial values.
bool opens_block(std::string_view head) {
  return head.empty() || head.ends_with(":") || head.find(".entry") != std::string_view::npos ||
         head.find(".func") != std::string_view::npos || head.find(".section") != std::string_view::npos;
}

/// What semicolons and blocks divide, wherever the lines end: a line may hold several instructions.
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
      if (depth == 0 && opens_block(trimmed(text.substr(begin, at - begin)))) end_at(at);
      else ++depth;
    } else if (text[at] == '}') {
      if (depth == 0) end_at(at);
      else --depth;
    }
  }
  end_at(text.size());
  return found;
}

/// What follows the state space of variables in global memory; empty where a statement declares none. In an instruction
/// ".global" adjoins what is before it, and ".ptr .global" is where a parameter points.
std::string_view declared_globals(std::string_view statement) {
  constexpr std::string_view kSpace = ".global";
  for (std::size_t at = statement.find(kSpace); at != std::string_view::npos; at = statement.find(kSpace, at + 1)) {
    const std::string_view before = trimmed(statement.substr(0, at)), after = statement.substr(at + kSpace.size());
    const bool adjoins = at > 0 && kBlanks.find(statement[at - 1]) == std::string_view::npos;
    if (!adjoins && !before.ends_with(".ptr") && !after.empty() && !is_name_character(after.front())) return after;
  }
  return {};
}

/// The last name before "[" or "=".
std::string_view declared_name(std::string_view declarator) {
  std::string_view head = declarator.substr(0, declarator.find_first_of("[="));
  while (!head.empty() && !is_name_character(head.back())) head.remove_suffix(1);
  std::size_t begin = head.size();
  while (begin > 0 && is_name_character(head[begin - 1])) --begin;
  return head.substr(begin);
}

/// The names of a list of declarators, divided by the commas outside of brackets.
std::vector<std::string_view> declared_names(std::string_view declarators) {
  std::vector<std::string_view> names;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= declarators.size(); ++at) {
    const char c = at < declarators.size() ? declarators[at] : ',';
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    if (c != ',' || (depth > 0 && at < declarators.size())) continue;
    if (const auto name = declared_name(declarators.substr(begin, at - begin)); !name.empty()) names.push_back(name);
    begin = at + 1;
  }
  return names;
}

/// Whether a statement names the variable as a whole word.
bool names(std::string_view statement, std::string_view variable) {
  for (std::size_t at = statement.find(variable); at != std::string_view::npos;
       at = statement.find(variable, at + 1)) {
    const std::size_t end = at + variable.size();
    const bool begins = at == 0 || !is_name_character(statement[at - 1]);
    const bool ends = end == statement.size() || !is_name_character(statement[end]);
    if (begins && ends) return true;
  }
  return false;
}

/// A load by name: "ld.global.nc.u32 %r1, [table+4]", perhaps behind labels, places in the source and a guard.
bool only_loads(std::string_view statement) {
  static const std::regex kAhead(R"((\s*[\w$%]+\s*:(?!:)|\s*\.loc(\s+\d+){3}(\s*,\s*function_name\s+[\w$]+(\s*\+\s*\d+)?)?)"
                                 R"((\s*,\s*inlined_at(\s+\d+){3})?(?=\s)|\s*@!?[\w$%]+(?=\s))*\s*)");
  std::cmatch ahead;
  std::regex_search(statement.data(), statement.data() + statement.size(), ahead, kAhead,
                    std::regex_constants::match_continuous);
  statement.remove_prefix(static_cast<std::size_t>(ahead.length()));
  return statement.starts_with("ld.global");
}

}  // namespace

std::vector<std::string> writable_globals(std::string_view ptx) {
  const std::string text = without_remarks(ptx);
  const std::vector<std::string_view> all = statements(text);
  std::vector<std::string> written;
  for (const std::string_view declaration : all) {
    for (const std::string_view name : declared_names(declared_globals(declaration))) {
      const bool may_be_written = std::ranges::any_of(all, [&](std::string_view statement) {
        return statement.data() != declaration.data() && names(statement, name) && !only_loads(statement);
      });
      if (may_be_written) written.emplace_back(name);
    }
  }
  return written;
}

}  // namespace evo

#include "evaluator/compile/writable_globals.h"

#include <algorithm>

#include "evaluator/compile/ptx_text.h"

namespace evo {
namespace {

using namespace ptx_text;

/// What follows the state space of variables in global memory; empty where a statement declares none. In an instruction
/// ".global" adjoins what is before it, and ".ptr .global" is where a parameter points.
std::string_view declared_globals(std::string_view statement) {
  constexpr std::string_view kSpace = ".global";
  for (std::size_t at = statement.find(kSpace); at != std::string_view::npos; at = statement.find(kSpace, at + 1)) {
    const std::string_view before = trimmed(statement.substr(0, at)), after = statement.substr(at + kSpace.size());
    const bool adjoins = at > 0 && !is_blank(statement[at - 1]);
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
  for (std::size_t at = statement.find(variable); at != std::string_view::npos; at = statement.find(variable, at + 1)) {
    const std::size_t end = at + variable.size();
    const bool begins = at == 0 || !is_name_character(statement[at - 1]);
    const bool ends = end == statement.size() || !is_name_character(statement[end]);
    if (begins && ends) return true;
  }
  return false;
}

/// A load by name: "ld.global.nc.u32 %r1, [table+4]".
bool only_loads(std::string_view statement) {
  return instruction_of(statement).starts_with("ld.global");
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

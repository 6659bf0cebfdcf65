#include "engine/search/near_duplicate.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "engine/base/text.h"

namespace evo {
namespace {

using Tokens = std::vector<std::string_view>;

bool begins_line(std::string_view text, std::size_t at) {
  const std::size_t before = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
  return at == 0 || before == std::string_view::npos || text[before] == '\n';
}

std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

/// Behind a literal in quotes that begins at `at`.
std::size_t quoted_end(std::string_view text, std::size_t at) {
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == text[at] || text[i] == '\n')
      return i + 1;
  }
  return text.size();
}

/// Words, numbers, literals and single characters. A line of a directive, of evo's or the preprocessor's, is one token.
Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t end = at + 1;
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      at = end;
      continue;
    }
    if (rest.starts_with("/*")) {
      const std::size_t close = text.find("*/", at + 2);
      at = close == std::string_view::npos ? text.size() : close + 2;
      continue;
    }
    if (rest.starts_with("//") && !(rest.starts_with("//%") && begins_line(text, at))) {
      at = line_end(text, at);
      continue;
    }
    if (rest.starts_with("//%") || text[at] == '#') {
      end = line_end(text, at);
    } else if (text[at] == '"' || text[at] == '\'') {
      end = quoted_end(text, at);
    } else if (is_identifier_character(text[at])) {
      while (end < text.size() && is_identifier_character(text[end])) ++end;
    }
    tokens.push_back(trim(text.substr(at, std::min(end, text.size()) - at)));
    at = end;
  }
  return tokens;
}

/// Names of which every use may be that of a variable: none is called, qualified or followed as a type is.
std::set<std::string_view> variables_in(const Tokens& tokens) {
  std::set<std::string_view> variables, others;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!is_identifier(tokens[i])) continue;
    const std::string_view before = i > 0 ? tokens[i - 1] : "";
    const std::string_view after = i + 1 < tokens.size() ? tokens[i + 1] : "";
    const bool member = before == "." || before == ">" || before == ":" || before == "$" || before == "{";
    const bool word = is_identifier(after) || after == "(" || after == "<" || after == ":" || after == "{" ||
                      after == "*" || after == "&" || after == ">" || after.starts_with('"');
    (member || word ? others : variables).insert(tokens[i]);
  }
  for (const std::string_view name : others) variables.erase(name);
  return variables;
}

}  // namespace

bool nearly_same(std::string_view a, std::string_view b) {
  const Tokens of_a = tokens_of(a), of_b = tokens_of(b);
  if (of_a.size() != of_b.size() || of_a.empty()) return false;
  const std::set<std::string_view> in_a = variables_in(of_a), in_b = variables_in(of_b);
  std::map<std::string_view, std::string_view> renamed, back;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const bool variables = in_a.contains(of_a[i]) && in_b.contains(of_b[i]);
    if (!variables && of_a[i] != of_b[i]) return false;
    if (!variables) continue;
    if (renamed.try_emplace(of_a[i], of_b[i]).first->second != of_b[i]) return false;
    if (back.try_emplace(of_b[i], of_a[i]).first->second != of_a[i]) return false;
  }
  // A name of the surroundings, such as a parameter of the kernel that an allele is put into, is not theirs to rename:
  // only one that the text declares itself is, which stands behind a type.
  for (const auto& [from, to] : renamed) {
    if (from == to) continue;
    const auto declared = [](const Tokens& tokens, std::string_view name) {
      const auto first = std::ranges::find(tokens, name);
      return first != tokens.begin() &&
             (is_identifier(*std::prev(first)) || *std::prev(first) == "*" || *std::prev(first) == "&" ||
              *std::prev(first) == ">") &&
             *std::prev(first) != "return";
    };
    if (!declared(of_a, from) || !declared(of_b, to)) return false;
  }
  return true;
}

}  // namespace evo

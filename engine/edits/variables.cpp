#include "engine/edits/variables.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "engine/base/stretches.h"
#include "engine/base/text.h"

namespace evo {
namespace {

/// Words ahead of a name that make no declaration of it.
bool is_no_type(const std::string& word) {
  static const std::set<std::string, std::less<>> kWords = {"return",   "else",     "goto",   "case",    "new",
                                                            "delete",   "typename", "struct", "typedef", "using",
                                                            "template", "if",       "for",    "while",   "do"};
  return kWords.contains(word);
}

/// The innermost block, or loop with its head, around a place.
TextRange scope_at(const Block& block, std::size_t place) {
  for (const Statement& statement : block.statements) {
    if (!statement.range.holds(place)) continue;
    for (const Block& part : statement.blocks)
      if (part.range.holds(place)) return scope_at(part, place);
    if (statement.kind == Statement::Kind::loop) return {place, statement.range.end};
  }
  return {place, block.range.end};
}

}  // namespace

std::vector<Variable> variables_of(const std::string& code, const FunctionText& function) {
  static const std::regex kDeclaration(R"(((?:const\s+|volatile\s+)*(?:unsigned\s+|long\s+|short\s+)*[A-Za-z_][\w:]*))"
                                       R"(((?:\s*\*\s*(?:const\b|__restrict__\b|evo_restrict\b|\s)*|\s+)))"
                                       R"(([A-Za-z_]\w*)\s*(\[[^\];]*\])?\s*(?=[=;,)\[{]|$))");
  std::vector<Variable> variables;
  for (const TextRange range : {function.parameters, function.body.range}) {
    const bool parameter = range == function.parameters;
    const std::string text = without_long_stretches(std::string(range.of(code)));
    for (std::sregex_iterator found(text.begin(), text.end(), kDeclaration), end; found != end; ++found) {
      if (is_no_type(found->str(1))) continue;
      std::string type = found->str(1);
      if (found->str(2).find('*') != std::string::npos) type += '*';
      if (found->length(4) > 0) type += "[]";
      const std::size_t place = range.begin + static_cast<std::size_t>(found->position(3));
      variables.push_back(
          {type, found->str(3), place, parameter ? function.body.range : scope_at(function.body, place)});
    }
  }
  return variables;
}

const Variable* variable_at(const std::vector<Variable>& variables, std::string_view name, std::size_t place) {
  const Variable* innermost = nullptr;
  for (const Variable& one : variables)
    if (one.name == name && one.scope.holds(place) && (innermost == nullptr || one.declared > innermost->declared))
      innermost = &one;
  return innermost;
}

std::vector<Word> words_of(const std::string& code, TextRange range) {
  std::vector<Word> words;
  for (std::size_t at = range.begin; at < range.end;) {
    const char c = code[at];
    if (!is_identifier_character(c)) {
      ++at;
      continue;
    }
    std::size_t end = at;
    const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const auto continues = [&](std::size_t place) {
      const char next = code[place];
      if (is_identifier_character(next) || (number && next == '.')) return true;
      return number && (next == '-' || next == '+') && (code[place - 1] == 'e' || code[place - 1] == 'E') &&
             code.compare(at, 2, "0x") != 0;
    };
    while (end < range.end && continues(end)) ++end;
    const bool of_hole = (at > 0 && code[at - 1] == '$') || (end < code.size() && code[end] == '$');
    if (!of_hole) words.push_back({{at, end}, std::string_view(code).substr(at, end - at)});
    at = end;
  }
  return words;
}

}  // namespace evo

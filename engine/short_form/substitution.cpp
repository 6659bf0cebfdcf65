#include "engine/short_form/substitution.h"

#include <cctype>

#include "engine/base/text.h"

namespace evo {
namespace {

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// A value as an operand of an expression.
std::string literal(const Value& value) {
  if (std::holds_alternative<std::string>(value)) return "'" + std::get<std::string>(value) + "'";
  const std::string text = expr::to_string(value);
  return text.starts_with('-') ? "(" + text + ")" : text;
}

}  // namespace

std::string with_values(std::string_view text, const Bindings& values) {
  std::string result;
  char quote = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (quote != 0 || c == '\'' || c == '"') {
      quote = quote == 0 ? c : c == quote ? 0 : quote;
      result += c;
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_identifier_character(c))
      while (end < text.size() && is_identifier_character(text[end])) ++end;
    const std::string word(text.substr(i, end - i));
    const auto value = begins_name(c) ? values.find(word) : values.end();
    result += value == values.end() ? word : literal(value->second);
    i = end;
  }
  return result;
}

}  // namespace evo

#include "engine/source/text_template.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

// A '}' inside quotes does not end the expression.
std::size_t closing_brace(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
    } else if (!quote && c == '}') {
      return i;
    }
  }
  throw usage_error("'${' without '}'");
}

}  // namespace

TextTemplate TextTemplate::parse(std::string_view line) {
  TextTemplate result;
  while (true) {
    const auto open = line.find("${");
    if (open == std::string_view::npos) break;
    if (open > 0) result.pieces_.emplace_back(std::string(line.substr(0, open)));
    line.remove_prefix(open + 2);
    const auto close = closing_brace(line);
    const std::string_view inside = trim(line.substr(0, close));
    if (inside.empty()) throw usage_error("expression expected");
    result.pieces_.emplace_back(Expression::parse(inside));
    line.remove_prefix(close + 1);
  }
  if (!line.empty() || result.pieces_.empty()) result.pieces_.emplace_back(std::string(line));
  return result;
}

std::string TextTemplate::render(const Bindings& bindings) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    const auto* literal = std::get_if<std::string>(&piece);
    text += literal ? *literal : expr::to_string(std::get<Expression>(piece).evaluate(bindings));
  }
  return text;
}

}  // namespace evo

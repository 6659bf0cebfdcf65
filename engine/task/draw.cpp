#include "engine/task/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

struct DrawForm {
  std::string_view name;
  DrawKind kind;
  std::size_t least, most;                ///< Numbers in brackets.
  std::array<std::string_view, 2> usual;  ///< Expressions for those that are left out.
};

constexpr std::array kForms = {
    DrawForm{"auto", DrawKind::automatic, 0, 0, {}},
    DrawForm{"zeros", DrawKind::constant, 0, 0, {}},
    DrawForm{"ones", DrawKind::constant, 0, 0, {"1"}},
    DrawForm{"unset", DrawKind::unset, 0, 0, {}},
    DrawForm{"iota", DrawKind::iota, 0, 2, {"0", "1"}},
    DrawForm{"uniform", DrawKind::uniform, 0, 2, {"0", "1"}},
    DrawForm{"normal", DrawKind::normal, 0, 2, {"0", "1"}},
    DrawForm{"non_negative", DrawKind::non_negative, 0, 0, {}},
    DrawForm{"integers", DrawKind::integers, 2, 2, {}},
    DrawForm{"indices", DrawKind::indices, 1, 1, {}},
    DrawForm{"permutation", DrawKind::permutation, 0, 0, {}},
    DrawForm{"shuffle", DrawKind::shuffle, 0, 0, {}},
    DrawForm{"offsets", DrawKind::offsets, 1, 1, {}},
    DrawForm{"page_table", DrawKind::page_table, 1, 1, {}},
    DrawForm{"bits", DrawKind::bits, 0, 0, {}},
};

std::vector<Expression> numbers_of(std::string_view text) {
  std::vector<Expression> numbers;
  for (const std::string_view part : split_outside_brackets(text, ",")) numbers.push_back(Expression::parse(part));
  return numbers;
}

Draw constant(std::string_view text) {
  const bool special = text == "nan" || text == "inf" || text == "-inf";
  Draw draw{DrawKind::constant, {}, {}};
  draw.numbers = {special ? Expression::constant(std::string(text)) : Expression::parse(text)};
  return draw;
}

}  // namespace

std::vector<Number> evaluate(const Draw& draw, const Bindings& known) {
  std::vector<Number> numbers;
  for (const Expression& expression : draw.numbers) {
    const Value value = expression.evaluate(known);
    if (const auto* name = std::get_if<std::string>(&value)) {
      const double infinity = std::numeric_limits<double>::infinity();
      numbers.emplace_back(*name == "nan" ? std::nan("") : *name == "inf" ? infinity : -infinity);
    } else if (const double* real = std::get_if<double>(&value)) {
      numbers.emplace_back(*real);
    } else {
      numbers.emplace_back(expression.evaluate_int(known));
    }
  }
  return numbers;
}

std::string draw_names() {
  std::string names;
  for (const DrawForm& form : kForms) names += std::string(form.name) + ", ";
  return names + "a number, {list} and @FILE";
}

Draw parse_draw(std::string_view text, bool floating) {
  const std::string_view whole = trim(text);
  if (whole.starts_with('@')) return {DrawKind::file, {}, std::string(whole.substr(1))};
  if (whole.starts_with('{') && whole.ends_with('}'))
    return {DrawKind::list, numbers_of(whole.substr(1, whole.size() - 2)), {}};
  const std::size_t bracket = whole.find('(');
  const std::string_view name = trim(whole.substr(0, bracket));
  const auto* form = std::find_if(kForms.begin(), kForms.end(), [&](const DrawForm& f) { return f.name == name; });
  if (form == kForms.end()) {
    const bool number = whole.find_first_of("0123456789") != std::string_view::npos;
    if (number || whole == "nan" || whole == "inf" || whole == "-inf") return constant(whole);
    throw usage_error(fmt::format("'{}' is no filling: there are {}", whole, draw_names()));
  }
  Draw draw{form->kind, {}, {}};
  if (bracket != std::string_view::npos) {
    if (!whole.ends_with(')')) throw usage_error(fmt::format("'{}': a bracket is not closed", whole));
    const std::string_view inside = trim(whole.substr(bracket + 1, whole.size() - bracket - 2));
    if (!inside.empty()) draw.numbers = numbers_of(inside);
  }
  if (draw.numbers.size() < form->least || draw.numbers.size() > form->most)
    throw usage_error(fmt::format("'{}': {} takes {} number{}", whole, name, form->most, form->most == 1 ? "" : "s"));
  const bool wide = form->kind == DrawKind::uniform && !floating;
  for (std::size_t i = draw.numbers.size(); i < form->usual.size(); ++i) {
    if (!form->usual[i].empty()) draw.numbers.push_back(Expression::parse(wide && i == 1 ? "100" : form->usual[i]));
  }
  return draw;
}

}  // namespace evo

#include "engine/expression/name_scope.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace evo {

void NameScope::declare(const JsonPlace& place, const std::string& name) {
  if (!is_identifier(name)) place.fail(fmt::format("'{}' is not a name (letters, digits and _)", name));
  if (expr::is_reserved(name)) place.fail(fmt::format("'{}' is a word of the expression language", name));
  if (!names_.insert(name).second) place.fail(fmt::format("the name '{}' is already taken", name));
}

void NameScope::check(const JsonPlace& place, const Expression& expression) const {
  for (const std::string& name : expression.names()) {
    if (names_.contains(name)) continue;
    place.fail(fmt::format("'{}' reads unknown name '{}'{}", expression.text(), name,
                           suggestion(name, {names_.begin(), names_.end()})));
  }
}

Expression NameScope::read(const JsonPlace& object, std::string_view key) const {
  const JsonPlace place = object.at(key);
  Expression expression = place.expression();
  check(place, expression);
  return expression;
}

Expression NameScope::read(const JsonPlace& object, std::string_view key, const Value& fallback) const {
  return object.find(key) ? read(object, key) : Expression::constant(fallback);
}

std::vector<Expression> NameScope::read_list(const JsonPlace& object, std::string_view key) const {
  std::vector<Expression> expressions;
  for (const JsonPlace& place : object.at(key).items()) {
    expressions.push_back(place.expression());
    check(place, expressions.back());
  }
  return expressions;
}

}  // namespace evo

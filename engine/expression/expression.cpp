#include "engine/expression/expression.h"

#include <fmt/format.h>

#include <set>

#include "engine/base/error.h"
#include "engine/expression/expression_node.h"

namespace evo::expr {
namespace {

void collect_names(const Node& node, std::set<std::string>& names) {
  if (node.op == Op::name) names.insert(node.name);
  for (const auto& child : node.children) collect_names(*child, names);
}

std::shared_ptr<const Node> constant_node(Value value) {
  auto node = std::make_shared<Node>();
  node->value = std::move(value);
  return node;
}

}  // namespace

Expression::Expression() {
  static const std::shared_ptr<const Node> kTrue = constant_node(true);
  text_ = "true";
  root_ = kTrue;
}

Expression Expression::constant(Value value) {
  Expression result;
  result.text_ = std::holds_alternative<std::string>(value) ? fmt::format("'{}'", to_string(value)) : to_string(value);
  result.root_ = constant_node(std::move(value));
  return result;
}

Value Expression::evaluate(const Bindings& known) const {
  return quoting(text_, [&] { return expr::evaluate(*root_, known); });
}

std::int64_t Expression::evaluate_int(const Bindings& known) const {
  return quoting(text_, [&] { return integer(evaluate(known)); });
}

double Expression::evaluate_real(const Bindings& known) const {
  return quoting(text_, [&] { return real(evaluate(known)); });
}

bool Expression::evaluate_bool(const Bindings& known) const {
  const Value value = evaluate(known);
  try {
    return truth(value);
  } catch (const Failure&) {
    throw usage_error(fmt::format("'{}': {} stands where true or false is needed", text_, description_of(value)));
  }
}

std::optional<Value> Expression::evaluate_partially(const Bindings& known) const {
  return quoting(text_, [&] { return expr::evaluate_partially(*root_, known); });
}

std::vector<std::string> Expression::names() const {
  std::set<std::string> names;
  collect_names(*root_, names);
  return {names.begin(), names.end()};
}

}  // namespace evo::expr

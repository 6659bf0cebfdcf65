#include "engine/expression/expression_python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/expression/expression_node.h"

namespace evo::expr {
namespace {

std::string_view python_operator(Op op) {
  switch (op) {
    case Op::divide:
    case Op::floor_divide:
      return "//";
    case Op::logical_and:
      return "and";
    case Op::logical_or:
      return "or";
    default:
      if (const std::string_view symbol = common_symbol(op); !symbol.empty()) return symbol;
      throw Failure{"Python has no such operation"};
  }
}

/// Whether it gives a real number: `/` then divides.
bool gives_real(const Node& node, const Bindings& known) {
  if (is_real_function(node.op)) return true;
  if (node.op == Op::to_integer) return false;
  if (node.op == Op::constant) return std::holds_alternative<double>(node.value);
  if (node.op == Op::name) {
    const auto value = known.find(node.name);
    return value != known.end() && std::holds_alternative<double>(value->second);
  }
  return std::ranges::any_of(node.children, [&](const auto& child) { return gives_real(*child, known); });
}

/// Operations are in parentheses, because the language's precedence is not Python's.
class PythonWriter {
 public:
  explicit PythonWriter(const Bindings& known) : known_(known) {}

  std::string write(const Node& node) const {
    const std::optional<Value> value = evaluate_partially(node, known_);
    return value ? python_literal(*value) : visit(node, *this);
  }

  std::string constant(const Node& node) const { return python_literal(node.value); }
  std::string name(const Node& node) const { return node.name; }

  std::string junction(const Node& node) const {
    // A known side that does not decide the result only adds noise.
    if (evaluate_partially(*node.children[0], known_)) return write(*node.children[1]);
    if (evaluate_partially(*node.children[1], known_)) return write(*node.children[0]);
    return joined(node, 0, node.op, 1);
  }

  std::string conditional(const Node& node) const {
    if (const auto condition = evaluate_partially(*node.children[0], known_))
      return write(*node.children[truth(*condition) ? 1 : 2]);
    return fmt::format("({} if {} else {})", child(node, 1), child(node, 0), child(node, 2));
  }

  std::string chain(const Node& node) const {
    std::string all = child(node, 0);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i)
      all += fmt::format(" {} {}", python_operator(node.comparisons[i]), child(node, i + 1));
    return "(" + all + ")";
  }

  std::string membership(const Node& node) const {
    std::vector<std::string> values = children(node);
    const std::string value = values.front();
    values.erase(values.begin());
    return fmt::format("({} in ({},))", value, fmt::join(values, ", "));
  }

  std::string strict(const Node& node) const {
    switch (node.op) {
      case Op::negate:
        return "(-" + child(node, 0) + ")";
      case Op::logical_not:
        return "(not " + child(node, 0) + ")";
      case Op::minimum:
        return fmt::format("min({})", fmt::join(children(node), ", "));
      case Op::maximum:
        return fmt::format("max({})", fmt::join(children(node), ", "));
      case Op::ceil_divide:
        return fmt::format("(-(-{} // {}))", child(node, 0), child(node, 1));
      case Op::is_pow2:
        return fmt::format("({0} > 0 and ({0} & ({0} - 1)) == 0)", child(node, 0));
      case Op::log2:
        return fmt::format("(({}).bit_length() - 1)", child(node, 0));
      case Op::to_real:
        return fmt::format("float({})", child(node, 0));
      case Op::square_root:
        return fmt::format("math.sqrt({})", child(node, 0));
      case Op::reciprocal_root:
        return fmt::format("(1.0 / math.sqrt({}))", child(node, 0));
      case Op::exponential:
        return fmt::format("math.exp({})", child(node, 0));
      case Op::logarithm:
        return fmt::format("math.log({})", child(node, 0));
      case Op::to_integer:
        return fmt::format("int({})", child(node, 0));
      case Op::numbered:
        throw Failure{"text is not written as Python"};
      case Op::power:
        return fmt::format("math.pow({}, {})", child(node, 0), child(node, 1));
      case Op::divide:
        if (gives_real(node, known_)) return fmt::format("({} / {})", child(node, 0), child(node, 1));
        return joined(node, 0, node.op, 1);
      default:
        return joined(node, 0, node.op, 1);
    }
  }

 private:
  std::string child(const Node& node, std::size_t index) const { return write(*node.children[index]); }

  std::vector<std::string> children(const Node& node) const {
    std::vector<std::string> written;
    for (const auto& child : node.children) written.push_back(write(*child));
    return written;
  }

  std::string joined(const Node& node, std::size_t left, Op op, std::size_t right) const {
    return fmt::format("({} {} {})", child(node, left), python_operator(op), child(node, right));
  }

  const Bindings& known_;
};

}  // namespace

std::string python_literal(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const std::string* text = std::get_if<std::string>(&value)) {
    std::string quoted = "\"";
    for (const char c : *text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }
  return to_string(value);
}

std::string to_python(const Expression& expression, const Bindings& known) {
  return quoting(expression.text(), [&] { return PythonWriter(known).write(expression.root()); });
}

}  // namespace evo::expr

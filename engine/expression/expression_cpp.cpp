#include "engine/expression/expression_cpp.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/expression/expression_node.h"

namespace evo::expr {
namespace {

std::string_view symbol_of(Op op) {
  switch (op) {
    case Op::divide:
      return "/";
    case Op::logical_and:
      return "&&";
    case Op::logical_or:
      return "||";
    default:
      if (const std::string_view symbol = common_symbol(op); !symbol.empty()) return symbol;
      throw std::logic_error("no C++ operator");
  }
}

// Every operation is in parentheses, because our precedence is not C++'s. Literals are long long, so that
// all arithmetic is 64 bits wide.
class Writer {
 public:
  Writer(const Bindings& known, const WrittenNames& written, const RealNames& reals)
      : known_(known), written_(written), reals_(reals) {}

  std::string write(const Node& node) const {
    return bounded(folded(node) ? literal(*folded(node)) : visit(node, *this));
  }

  /// Whether the C++ of a node is a double.
  bool is_real(const Node& node) const {
    switch (node.op) {
      case Op::constant:
        return std::holds_alternative<double>(node.value);
      case Op::name: {
        const auto value = known_.find(node.name);
        return value == known_.end() ? reals_.contains(node.name) : std::holds_alternative<double>(value->second);
      }
      case Op::conditional:
        if (const auto condition = folded(*node.children[0])) return is_real(*node.children[truth(*condition) ? 1 : 2]);
        return any_real(node, 1);
      case Op::negate:
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::minimum:
      case Op::maximum:
        return any_real(node, 0);
      default:
        return is_real_function(node.op);
    }
  }

  std::string constant(const Node& node) const { return literal(node.value); }

  std::string name(const Node& node) const {
    const auto other = written_.find(node.name);
    return other == written_.end() ? node.name : other->second;
  }

  std::string junction(const Node& node) const {
    // A known side that does not decide the result only adds noise.
    if (folded(*node.children[0])) return truth_of(node, 1);
    if (folded(*node.children[1])) return truth_of(node, 0);
    return binary(child(node, 0), node.op, child(node, 1));
  }

  std::string conditional(const Node& node) const {
    if (const auto condition = folded(*node.children[0])) return child(node, truth(*condition) ? 1 : 2);
    const bool real = any_real(node, 1);
    return fmt::format("({} ? {} : {})", child(node, 0), child_as(node, 1, real), child_as(node, 2, real));
  }

  std::string chain(const Node& node) const {
    std::string all;
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      all += all.empty() ? "" : " && ";
      all = bounded(all + binary(node, i, node.comparisons[i], i + 1));
    }
    return "(" + all + ")";
  }

  std::string membership(const Node& node) const {
    std::string any;
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      any += any.empty() ? "" : " || ";
      any = bounded(any + binary(node, 0, Op::equal, i));
    }
    return "(" + any + ")";
  }

  std::string strict(const Node& node) const {
    switch (node.op) {
      case Op::negate:
        return "(-" + child(node, 0) + ")";
      case Op::logical_not:
        return "(!" + child(node, 0) + ")";
      case Op::minimum:
        return extreme(node, "<");
      case Op::maximum:
        return extreme(node, ">");
      case Op::floor_divide:
        return floor_divide(child(node, 0), child(node, 1));
      case Op::ceil_divide:
        return ceil_divide(child(node, 0), child(node, 1));
      case Op::is_pow2:
        return fmt::format("({0} > 0 && ({0} & ({0} - 1)) == 0)", child(node, 0));
      case Op::log2:
        return fmt::format("(63LL - __builtin_clzll(static_cast<unsigned long long>({})))", child(node, 0));
      case Op::to_real:
        return double_of(node, 0);
      case Op::square_root:
        return fmt::format("std::sqrt({})", double_of(node, 0));
      case Op::reciprocal_root:
        return fmt::format("(1.0 / std::sqrt({}))", double_of(node, 0));
      case Op::exponential:
        return fmt::format("std::exp({})", double_of(node, 0));
      case Op::logarithm:
        return fmt::format("std::log({})", double_of(node, 0));
      case Op::to_integer:
        return fmt::format("static_cast<long long>({})", child(node, 0));
      case Op::numbered:
        throw Failure{"text cannot become C++"};
      case Op::power:
        return fmt::format("std::pow({}, {})", double_of(node, 0), double_of(node, 1));
      default:
        return binary(node, 0, node.op, 1);
    }
  }

 private:
  static constexpr std::size_t kMaxLength = 1 << 16;

  /// min, max and ceil_div repeat their operands, so nesting them, and each further operand, multiplies the length.
  static std::string bounded(std::string code) {
    if (code.size() > kMaxLength) throw Failure{"too long as C++"};
    return code;
  }

  bool any_real(const Node& node, std::size_t first) const {
    return std::any_of(node.children.begin() + static_cast<std::ptrdiff_t>(first), node.children.end(),
                       [&](const auto& child) { return is_real(*child); });
  }

  std::string double_of(const Node& node, std::size_t index) const {
    return fmt::format("static_cast<double>({})", child(node, index));
  }

  /// An integer next to a real one is cast: a class type that checks integers would else take the real one.
  std::string child_as(const Node& node, std::size_t index, bool real) const {
    return real && !is_real(*node.children[index]) ? double_of(node, index) : child(node, index);
  }

  std::string binary(const Node& node, std::size_t left, Op op, std::size_t right) const {
    const bool real = is_real(*node.children[left]) || is_real(*node.children[right]);
    return binary(child_as(node, left, real), op, child_as(node, right, real));
  }

  std::optional<Value> folded(const Node& node) const { return evaluate_partially(node, known_); }

  std::string child(const Node& node, std::size_t index) const { return write(*node.children[index]); }

  static std::string literal(const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      return *number < 0 ? fmt::format("({}LL)", *number) : fmt::format("{}LL", *number);
    }
    if (const double* real = std::get_if<double>(&value))
      return *real < 0 ? "(" + to_string(value) + ")" : to_string(value);
    if (std::holds_alternative<bool>(value)) return to_string(value);
    throw Failure{fmt::format("the string '{}' cannot become C++", to_string(value))};
  }

  static std::string binary(const std::string& left, Op op, const std::string& right) {
    return fmt::format("({} {} {})", left, symbol_of(op), right);
  }

  std::string truth_of(const Node& node, std::size_t index) const {
    return gives_boolean(*node.children[index]) ? child(node, index) : "(" + child(node, index) + " != 0)";
  }

  static bool gives_boolean(const Node& node) {
    if (is_comparison(node.op)) return true;
    switch (node.op) {
      case Op::constant:
        return std::holds_alternative<bool>(node.value);
      case Op::conditional:
        return gives_boolean(*node.children[1]) && gives_boolean(*node.children[2]);
      case Op::logical_not:
      case Op::logical_and:
      case Op::logical_or:
      case Op::is_pow2:
      case Op::chain:
      case Op::in:
        return true;
      default:
        return false;
    }
  }

  std::string extreme(const Node& node, std::string_view better) const {
    const bool real = any_real(node, 0);
    std::string best = child_as(node, 0, real);
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      best = bounded(fmt::format("({0} {1} {2} ? {0} : {2})", best, better, child_as(node, i, real)));
    }
    return best;
  }

  static std::string floor_divide(const std::string& a, const std::string& b) {
    return fmt::format("({0} / {1} - ({0} % {1} != 0 && ({0} < 0) != ({1} < 0)))", a, b);
  }

  static std::string ceil_divide(const std::string& a, const std::string& b) {
    return fmt::format("({0} / {1} + ({0} > 0 && {0} % {1} != 0))", a, b);
  }

  const Bindings& known_;
  const WrittenNames& written_;
  const RealNames& reals_;
};

}  // namespace

std::string to_cpp(const Expression& expression, const Bindings& known, const WrittenNames& written,
                   const RealNames& reals) {
  return quoting(expression.text(), [&] { return Writer(known, written, reals).write(expression.root()); });
}

bool is_real_in_cpp(const Expression& expression, const Bindings& known, const RealNames& reals) {
  const WrittenNames none;
  return quoting(expression.text(), [&] { return Writer(known, none, reals).is_real(expression.root()); });
}

}  // namespace evo::expr

#include "engine/expression/expression_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace evo::expr {
namespace {

bool is_string(const Value& value) {
  return std::holds_alternative<std::string>(value);
}

bool is_real(const Value& value) {
  return std::holds_alternative<double>(value);
}

bool equal(const Value& a, const Value& b) {
  if (is_string(a) != is_string(b)) {
    throw Failure{fmt::format("compares {} with {}", description_of(a), description_of(b))};
  }
  if (is_string(a)) return std::get<std::string>(a) == std::get<std::string>(b);
  return is_real(a) || is_real(b) ? real(a) == real(b) : integer(a) == integer(b);
}

void require_fit(bool overflowed) {
  if (overflowed) throw Failure{"exceeds 64 bits"};
}

std::int64_t nonzero(std::int64_t divisor) {
  if (divisor == 0) throw Failure{"division by zero"};
  return divisor;
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  require_fit(nonzero(b) == -1 && a == std::numeric_limits<std::int64_t>::min());
  return a / b;
}

std::int64_t remainder(std::int64_t a, std::int64_t b) {
  return nonzero(b) == -1 ? 0 : a % b;
}

std::int64_t shift_amount(std::int64_t bits) {
  if (bits < 0 || bits > 62) throw Failure{fmt::format("shift by {}: must be 0 to 62", bits)};
  return bits;
}

std::int64_t positive(std::int64_t value, std::string_view what) {
  if (value <= 0) throw Failure{fmt::format("{} of {}: must be positive", what, value)};
  return value;
}

std::int64_t floor_log2(std::int64_t value) {
  return 63 - __builtin_clzll(static_cast<unsigned long long>(positive(value, "log2")));
}

std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) {
  positive(b, "ceil_div by a divisor");
  return a / b + (a > 0 && a % b != 0 ? 1 : 0);
}

template <class Number>
bool ordered(Op op, Number a, Number b) {
  switch (op) {
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    case Op::greater_equal:
      return a >= b;
    default:
      throw std::logic_error("not a binary operator");
  }
}

Value arithmetic(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Op::add:
      require_fit(__builtin_add_overflow(a, b, &result));
      return result;
    case Op::subtract:
      require_fit(__builtin_sub_overflow(a, b, &result));
      return result;
    case Op::multiply:
      require_fit(__builtin_mul_overflow(a, b, &result));
      return result;
    case Op::divide:
      return quotient(a, b);
    case Op::floor_divide: {
      const bool inexact = remainder(a, b) != 0;
      return quotient(a, b) - (inexact && (a < 0) != (b < 0) ? 1 : 0);
    }
    case Op::modulo:
      return remainder(a, b);
    case Op::shift_left:
      require_fit(__builtin_mul_overflow(a, std::int64_t{1} << shift_amount(b), &result));
      return result;
    case Op::shift_right:
      return a >> shift_amount(b);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::ceil_divide:
      return ceil_quotient(a, b);
    default:
      return ordered(op, a, b);
  }
}

double finite(double value) {
  if (!std::isfinite(value)) throw Failure{"is no finite number"};
  return value;
}

/// Where one operand is a real.
Value real_arithmetic(Op op, const Value& left, const Value& right) {
  const double a = real(left), b = real(right);
  switch (op) {
    case Op::add:
      return finite(a + b);
    case Op::subtract:
      return finite(a - b);
    case Op::multiply:
      return finite(a * b);
    case Op::divide:
      if (b == 0) throw Failure{"division by zero"};
      return finite(a / b);
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
      return ordered(op, a, b);
    default:
      return arithmetic(op, integer(left), integer(right));  // Says which operand is no integer.
  }
}

double non_negative(double value, std::string_view what) {
  if (value < 0) throw Failure{fmt::format("{} of {}: must not be negative", what, value)};
  return value;
}

Value real_function(Op op, std::span<const Value> operands) {
  const double a = real(operands[0]);
  switch (op) {
    case Op::to_real:
      return a;
    case Op::square_root:
      return std::sqrt(non_negative(a, "sqrt"));
    case Op::reciprocal_root:
      return finite(1.0 / std::sqrt(non_negative(a, "rsqrt")));
    case Op::exponential:
      return finite(std::exp(a));
    case Op::logarithm:
      return finite(std::log(non_negative(a, "log")));
    default:
      return finite(std::pow(a, real(operands[1])));
  }
}

/// Without its fraction.
Value truncated(const Value& value) {
  if (!is_real(value)) return integer(value);
  const double whole = std::trunc(real(value));
  require_fit(!(std::abs(whole) < 0x1p63));
  return static_cast<std::int64_t>(whole);
}

const std::string& text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  throw Failure{fmt::format("{} stands where a string is needed", description_of(value))};
}

/// numbered(first, end, text, separator): each {} of the text is the number.
Value numbered(std::span<const Value> operands) {
  constexpr std::size_t kMaxLength = 4096;
  const std::int64_t first = integer(operands[0]), end = integer(operands[1]);
  const std::string &text = text_of(operands[2]), &separator = text_of(operands[3]);
  std::string all;
  std::size_t rounds = 0;  // each counts, too: texts may be empty
  for (std::int64_t number = first; number < end; ++number) {
    if (number > first) all += separator;
    std::size_t from = 0;
    for (std::size_t at; (at = text.find("{}", from)) != std::string::npos; from = at + 2)
      all += text.substr(from, at - from) + std::to_string(number);
    all += text.substr(from);
    if (all.size() + ++rounds > kMaxLength) throw Failure{fmt::format("makes more than {} characters", kMaxLength)};
  }
  return all;
}

Value extreme(Op op, std::span<const Value> operands) {
  if (std::any_of(operands.begin(), operands.end(), is_real)) {
    double best = real(operands.front());
    for (const Value& operand : operands.subspan(1))
      best = op == Op::minimum ? std::min(best, real(operand)) : std::max(best, real(operand));
    return best;
  }
  std::int64_t best = integer(operands.front());
  for (const Value& operand : operands.subspan(1)) {
    best = op == Op::minimum ? std::min(best, integer(operand)) : std::max(best, integer(operand));
  }
  return best;
}

// Evaluates with some names unknown: an empty result means "not decided yet". With every name known
// (`complete`), an unknown name is a failure instead.
class Evaluation {
 public:
  Evaluation(const Bindings& known, bool complete) : known_(known), complete_(complete) {}

  std::optional<Value> run(const Node& node) const { return visit(node, *this); }

  std::optional<Value> constant(const Node& node) const { return node.value; }

  std::optional<Value> name(const Node& node) const {
    const auto found = known_.find(node.name);
    if (found != known_.end()) return found->second;
    if (complete_) throw Failure{fmt::format("unknown name '{}'", node.name)};
    return std::nullopt;
  }

  std::optional<Value> junction(const Node& node) const {
    const bool absorbing = node.op == Op::logical_or;
    const auto left = run(*node.children[0]);
    if (left && truth(*left) == absorbing) return absorbing;
    const auto right = left ? run(*node.children[1]) : guarded(*node.children[1]);
    if (!right) return std::nullopt;
    if (left) return truth(*right);
    if (!is_string(*right) && truth(*right) == absorbing) return absorbing;
    return std::nullopt;
  }

  std::optional<Value> conditional(const Node& node) const {
    if (const auto condition = run(*node.children[0])) return run(*node.children[truth(*condition) ? 1 : 2]);
    const auto yes = guarded(*node.children[1]);
    const auto no = guarded(*node.children[2]);
    return yes && yes == no ? yes : std::nullopt;
  }

  std::optional<Value> chain(const Node& node) const {
    std::optional<Value> left = run(*node.children[0]);
    bool decided = true;
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      std::optional<Value> right = decided ? run(*node.children[i + 1]) : guarded(*node.children[i + 1]);
      if (left && right) {
        const std::array<Value, 2> pair = {*left, *right};
        if (!truth(operate(node.comparisons[i], pair))) return false;
      } else {
        decided = false;
      }
      left = std::move(right);
    }
    return decided ? std::optional<Value>(true) : std::nullopt;
  }

  std::optional<Value> membership(const Node& node) const {
    const auto needle = run(*node.children[0]);
    bool decided = needle.has_value();
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      const auto member = decided ? run(*node.children[i]) : guarded(*node.children[i]);
      if (needle && member) {
        if (equal(*needle, *member)) return true;
      } else {
        decided = false;
      }
    }
    return decided ? std::optional<Value>(false) : std::nullopt;
  }

  std::optional<Value> strict(const Node& node) const {
    std::vector<Value> operands;
    operands.reserve(node.children.size());
    for (const auto& child : node.children) {
      if (auto value = run(*child)) operands.push_back(std::move(*value));
    }
    if (operands.size() != node.children.size()) return std::nullopt;
    return operate(node.op, operands);
  }

 private:
  // What may turn out never to be evaluated cannot fail yet.
  std::optional<Value> guarded(const Node& node) const {
    try {
      return run(node);
    } catch (const Failure&) {
      return std::nullopt;
    }
  }

  const Bindings& known_;
  bool complete_;
};

}  // namespace

std::string_view common_symbol(Op op) {
  static constexpr std::pair<Op, std::string_view> kSymbols[] = {
      {Op::add, "+"},         {Op::subtract, "-"},       {Op::multiply, "*"}, {Op::modulo, "%"},
      {Op::shift_left, "<<"}, {Op::shift_right, ">>"},   {Op::bit_and, "&"},  {Op::bit_or, "|"},
      {Op::equal, "=="},      {Op::not_equal, "!="},     {Op::less, "<"},     {Op::less_equal, "<="},
      {Op::greater, ">"},     {Op::greater_equal, ">="},
  };
  for (const auto& [operation, symbol] : kSymbols)
    if (operation == op) return symbol;
  return {};
}

bool is_comparison(Op op) {
  return op == Op::equal || op == Op::not_equal || op == Op::less || op == Op::less_equal || op == Op::greater ||
         op == Op::greater_equal;
}

bool is_real_function(Op op) {
  return op >= Op::to_real && op <= Op::power;
}

std::string description_of(const Value& value) {
  if (is_real(value)) return "a real number";
  if (std::holds_alternative<std::string>(value)) return fmt::format("the string '{}'", std::get<std::string>(value));
  return std::holds_alternative<bool>(value) ? "a boolean" : "an integer";
}

bool truth(const Value& value) {
  if (is_real(value)) return real(value) != 0;
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean;
  return integer(value) != 0;
}

std::int64_t integer(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  const auto* text = std::get_if<std::string>(&value);
  const bool fraction = text && !text->empty() && text->find_first_not_of("+-.eE0123456789") == std::string::npos;
  throw Failure{fmt::format("{} stands where {} is needed{}", description_of(value),
                            is_real(value) ? "an integer" : "a number",
                            fraction ? ": a gene's value with a fraction is a text, which == and in compare" : "")};
}

double real(const Value& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  return static_cast<double>(integer(value));
}

Value operate(Op op, std::span<const Value> operands) {
  switch (op) {
    case Op::negate:
      if (is_real(operands[0])) return -real(operands[0]);
      return arithmetic(Op::subtract, 0, integer(operands[0]));
    case Op::logical_not:
      return !truth(operands[0]);
    case Op::equal:
      return equal(operands[0], operands[1]);
    case Op::not_equal:
      return !equal(operands[0], operands[1]);
    case Op::minimum:
    case Op::maximum:
      return extreme(op, operands);
    case Op::is_pow2: {
      const std::int64_t value = integer(operands[0]);
      return value > 0 && (value & (value - 1)) == 0;
    }
    case Op::log2:
      return floor_log2(integer(operands[0]));
    case Op::to_integer:
      return truncated(operands[0]);
    case Op::numbered:
      return numbered(operands);
    default:
      if (is_real_function(op)) return real_function(op, operands);
      if (is_real(operands[0]) || is_real(operands[1])) return real_arithmetic(op, operands[0], operands[1]);
      return arithmetic(op, integer(operands[0]), integer(operands[1]));
  }
}

Value evaluate(const Node& node, const Bindings& known) {
  return *Evaluation(known, true).run(node);
}

std::optional<Value> evaluate_partially(const Node& node, const Bindings& known) {
  return Evaluation(known, false).run(node);
}

}  // namespace evo::expr

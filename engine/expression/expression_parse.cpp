#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/expression.h"
#include "engine/expression/expression_node.h"

namespace evo::expr {
namespace {

constexpr std::size_t kMaxLength = 4096;
constexpr int kMaxLevels = 200;            // of the tree; and of brackets, prefix operators and branches around a value
constexpr std::int64_t kMaxSize = 10'000;  // nodes that evaluation visits; a power visits its base once for each factor

using NodePtr = std::shared_ptr<const Node>;

struct Token {
  enum class Kind { end, number, text, name, symbol };
  Kind kind = Kind::end;
  std::string_view spelling;
  std::size_t column = 1;
};

struct Function {
  std::string_view name;
  Op op;
  std::size_t min_arguments;
  std::size_t max_arguments;
};

constexpr std::array kFunctions = {
    Function{"min", Op::minimum, 1, 64},
    Function{"max", Op::maximum, 1, 64},
    Function{"ceil_div", Op::ceil_divide, 2, 2},
    Function{"pow2", Op::is_pow2, 1, 1},
    Function{"log2", Op::log2, 1, 1},
    Function{"real", Op::to_real, 1, 1},
    Function{"sqrt", Op::square_root, 1, 1},
    Function{"rsqrt", Op::reciprocal_root, 1, 1},
    Function{"exp", Op::exponential, 1, 1},
    Function{"log", Op::logarithm, 1, 1},
    Function{"pow", Op::power, 2, 2},
    Function{"abs", Op::maximum, 1, 1},  // max(x, -x)
    Function{"int", Op::to_integer, 1, 1},
    Function{"numbered", Op::numbered, 4, 4},
};

std::string function_names() {
  std::string names;
  for (const Function& function : kFunctions) names += fmt::format("{}{}", names.empty() ? "" : ", ", function.name);
  return names;
}

using Operators = std::initializer_list<std::pair<std::string_view, Op>>;

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kShown = 160;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

// Recursive descent. Precedence is Python's: bitwise operators bind tighter than comparisons.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > kMaxLength) {
      throw usage_error(fmt::format("expression of {} characters: the limit is {}", text.size(), kMaxLength));
    }
    advance();
  }

  NodePtr parse() {
    NodePtr root = expression();
    if (token_.kind != Token::Kind::end) fail(fmt::format("unexpected '{}'{}", token_.spelling, pythons()));
    return root;
  }

 private:
  /// What Python has and this language has not, where that may be why a text is not understood.
  std::string pythons() const {
    if (text_.starts_with("lambda")) return "; write a lambda's expression alone, with names as they are";
    const bool subscript = token_.spelling == "[" && token_.column > 1 && starts_name(text_[token_.column - 2]);
    return subscript ? "; parameters are written by their names: tile, not p['tile']" : "";
  }

  [[noreturn]] void fail(const std::string& reason) const { fail_at(token_.column, reason); }
  [[noreturn]] void fail_at(std::size_t column, const std::string& reason) const {
    throw usage_error(fmt::format("expression '{}', column {}: {}", shortened(text_), column, reason));
  }

  // --- tokens

  void advance() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    token_ = Token{Token::Kind::end, text_.substr(at_, 0), at_ + 1};
    if (at_ == text_.size()) return;
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (is_digit(c)) {
      scan_number();
    } else if (starts_name(c)) {
      while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
      token_.kind = Token::Kind::name;
    } else if (c == '\'' || c == '"') {
      const auto close = text_.find(c, at_ + 1);
      if (close == std::string_view::npos) fail("string without an end");
      at_ = close + 1;
      token_.kind = Token::Kind::text;
    } else {
      scan_symbol();
    }
    token_.spelling = text_.substr(begin, at_ - begin);
  }

  void scan_number() {
    token_.kind = Token::Kind::number;
    while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.' || is_sign())) {
      ++at_;
    }
  }

  /// A sign within a decimal: "1e-5".
  bool is_sign() const {
    if (text_[at_] != '-' && text_[at_] != '+') return false;
    const char before = text_[at_ - 1];
    const std::string_view number = text_.substr(token_.column - 1);
    return (before == 'e' || before == 'E') && !number.starts_with("0x") && !number.starts_with("0X");
  }

  void scan_symbol() {
    static constexpr std::array<std::string_view, 28> kSymbols = {
        "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "+", "-", "*", "/",
        "%",  "<",  ">",  "!",  "?",  ":",  "(",  ")",  "[",  "]",  ",", "&", "|", "="};
    for (std::string_view symbol : kSymbols) {
      if (text_.substr(at_).starts_with(symbol)) {
        token_.kind = Token::Kind::symbol;
        at_ += symbol.size();
        return;
      }
    }
    if (text_[at_] == '.' && at_ > 0 && starts_name(text_[at_ - 1]))
      fail("a module's functions are unknown; there are min, max, ceil_div(a, b), log2, sqrt, exp, log, pow");
    fail(fmt::format("unexpected character '{}'", text_[at_]));
  }

  bool is(std::string_view spelling) const {
    return (token_.kind == Token::Kind::symbol || token_.kind == Token::Kind::name) && token_.spelling == spelling;
  }
  bool accept(std::string_view spelling) {
    if (!is(spelling)) return false;
    advance();
    return true;
  }
  void expect(std::string_view spelling) {
    if (accept(spelling)) return;
    const bool ended = token_.kind == Token::Kind::end;
    fail(fmt::format("expected '{}' {}", spelling, ended ? "at the end" : fmt::format("before '{}'", token_.spelling)));
  }

  // --- nodes

  NodePtr make(Op op, std::vector<NodePtr> children, std::vector<Op> comparisons = {}) {
    auto node = std::make_shared<Node>();
    node->op = op;
    for (const NodePtr& child : children) {
      node->height = std::max(node->height, child->height + 1);
      node->size += child->size;
    }
    if (node->height > kMaxLevels) fail(fmt::format("nested deeper than {} levels", kMaxLevels));
    if (node->size > kMaxSize) fail(fmt::format("more than {} operations", kMaxSize));
    node->children = std::move(children);
    node->comparisons = std::move(comparisons);
    return node;
  }

  NodePtr constant(Value value) {
    auto node = std::make_shared<Node>();
    node->value = std::move(value);
    return node;
  }

  // --- grammar, loosest first

  // One level of nesting around a value. Every rule of the grammar that calls itself opens one.
  struct Nesting {
    explicit Nesting(Parser& parser) : depth(parser.nesting_) {
      if (++depth > kMaxLevels) parser.fail(fmt::format("nested deeper than {} levels", kMaxLevels));
    }
    ~Nesting() { --depth; }
    int& depth;
  };

  NodePtr expression() {
    const Nesting nesting(*this);
    NodePtr condition = disjunction();
    if (!accept("?")) return condition;
    NodePtr yes = expression();
    expect(":");
    NodePtr no = expression();
    return make(Op::conditional, {condition, yes, no});
  }

  NodePtr disjunction() {
    NodePtr left = conjunction();
    while (accept("||") || accept("or")) left = make(Op::logical_or, {left, conjunction()});
    return left;
  }

  NodePtr conjunction() {
    NodePtr left = negation();
    while (accept("&&") || accept("and")) left = make(Op::logical_and, {left, negation()});
    return left;
  }

  NodePtr negation() {
    if (!accept("not")) return comparison();
    const Nesting nesting(*this);
    return make(Op::logical_not, {negation()});
  }

  NodePtr comparison() {
    std::vector<NodePtr> operands = {bit_or()};
    if (accept("in")) return membership(operands.front());
    if (is("not")) {
      advance();
      if (!is("in")) fail("expected 'in' after 'not'");
      advance();
      return make(Op::logical_not, {membership(operands.front())});
    }
    std::vector<Op> comparisons;
    while (std::optional<Op> op = comparison_operator()) {
      comparisons.push_back(*op);
      operands.push_back(bit_or());
    }
    if (comparisons.empty()) return operands.front();
    if (comparisons.size() == 1) return make(comparisons.front(), std::move(operands));
    return make(Op::chain, std::move(operands), std::move(comparisons));
  }

  std::optional<Op> comparison_operator() {
    if (is("=")) fail("comparison is written '=='");
    for (auto [symbol, op] : Operators{{"==", Op::equal},
                                       {"!=", Op::not_equal},
                                       {"<=", Op::less_equal},
                                       {"<", Op::less},
                                       {">=", Op::greater_equal},
                                       {">", Op::greater}}) {
      if (accept(symbol)) return op;
    }
    return std::nullopt;
  }

  NodePtr membership(NodePtr needle) {
    std::vector<NodePtr> children = {std::move(needle)};
    const std::string_view close = is("[") ? "]" : ")";
    if (!accept("[") && !accept("(")) fail("expected a list such as (1, 2) or [1, 2] after 'in'");
    while (!is(close)) {
      children.push_back(expression());
      if (!accept(",")) break;
    }
    expect(close);
    return make(Op::in, std::move(children));
  }

  template <typename Operand>
  NodePtr left_associative(Operand operand, Operators operators) {
    NodePtr left = (this->*operand)();
    while (true) {
      const auto* matched =
          std::find_if(operators.begin(), operators.end(), [&](const auto& o) { return is(o.first); });
      if (matched == operators.end()) return left;
      advance();
      left = make(matched->second, {left, (this->*operand)()});
    }
  }

  NodePtr bit_or() { return left_associative(&Parser::bit_and, {{"|", Op::bit_or}}); }
  NodePtr bit_and() { return left_associative(&Parser::shift, {{"&", Op::bit_and}}); }
  NodePtr shift() { return left_associative(&Parser::sum, {{"<<", Op::shift_left}, {">>", Op::shift_right}}); }
  NodePtr sum() { return left_associative(&Parser::product, {{"+", Op::add}, {"-", Op::subtract}}); }
  NodePtr product() {
    return left_associative(&Parser::unary,
                            {{"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor_divide}, {"%", Op::modulo}});
  }

  NodePtr unary() {
    const Op op = is("-") ? Op::negate : Op::logical_not;
    if (!accept("-") && !accept("!")) return power();
    const Nesting nesting(*this);
    return make(op, {unary()});
  }

  // Binds tighter than a sign before it, looser than one after it, as in Python.
  NodePtr power() {
    NodePtr base = primary();
    if (!is("**")) return base;
    const std::size_t column = token_.column;
    advance();
    const Nesting nesting(*this);
    return raised(base, unary(), column);
  }

  // Powers are written with the other operators: a literal exponent is a product, and powers of a literal power of
  // two are shifts.
  NodePtr raised(const NodePtr& base, const NodePtr& exponent, std::size_t column) {
    constexpr std::int64_t kMostFactors = 62;
    const auto literal = [](const NodePtr& node) {
      const bool is_literal = node->op == Op::constant && std::holds_alternative<std::int64_t>(node->value);
      return is_literal ? std::get<std::int64_t>(node->value) : std::int64_t{-1};
    };
    if (const std::int64_t count = literal(exponent); count >= 0 && count <= kMostFactors) {
      NodePtr product = count == 0 ? constant(std::int64_t{1}) : base;
      for (std::int64_t factor = 1; factor < count; ++factor) product = make(Op::multiply, {product, base});
      return product;
    }
    const std::int64_t two = literal(base);
    if (two < 2 || (two & (two - 1)) != 0)
      fail_at(column, "a power needs a literal exponent from 0 to 62, or a literal power of two as its base");
    const NodePtr bits =
        two == 2 ? exponent
                 : make(Op::multiply,
                        {exponent, constant(std::int64_t{__builtin_ctzll(static_cast<unsigned long long>(two))})});
    return make(Op::shift_left, {constant(std::int64_t{1}), bits});
  }

  NodePtr primary() {
    const Token token = token_;
    switch (token.kind) {
      case Token::Kind::number:
        advance();
        return constant(number(token));
      case Token::Kind::text:
        advance();
        return constant(std::string(token.spelling.substr(1, token.spelling.size() - 2)));
      case Token::Kind::name:
        advance();
        return named(token);
      case Token::Kind::symbol:
        if (!accept("(")) break;
        {
          NodePtr inner = expression();
          expect(")");
          return inner;
        }
      case Token::Kind::end:
        fail("expected a value at the end");
    }
    fail(fmt::format("expected a value before '{}'", token.spelling));
  }

  Value number(const Token& token) const {
    const bool hexadecimal = token.spelling.starts_with("0x") || token.spelling.starts_with("0X");
    if (!hexadecimal && token.spelling.find_first_of(".eE") != std::string_view::npos) return decimal(token);
    return whole_number(token);
  }

  double decimal(const Token& token) const {
    const auto value = number_in<double>(token.spelling);
    if (!value || !std::isfinite(*value)) fail_at(token.column, fmt::format("'{}' is no number", token.spelling));
    return *value;
  }

  std::int64_t whole_number(const Token& token) const {
    std::string_view digits = token.spelling;
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      digits.remove_prefix(2);
      base = 16;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error == std::errc::result_out_of_range) {
      fail_at(token.column, fmt::format("'{}' does not fit 64 bits", token.spelling));
    }
    if (error != std::errc() || end != digits.data() + digits.size()) {
      fail_at(token.column, fmt::format("'{}' is not an integer", token.spelling));
    }
    return value;
  }

  NodePtr named(const Token& token) {
    if (token.spelling == "true" || token.spelling == "True") return constant(true);
    if (token.spelling == "false" || token.spelling == "False") return constant(false);
    if (is("(")) return call(token);
    if (is_reserved(token.spelling)) fail_at(token.column, fmt::format("expected a value, found '{}'", token.spelling));
    auto node = std::make_shared<Node>();
    node->op = Op::name;
    node->name = token.spelling;
    return node;
  }

  NodePtr call(const Token& token) {
    const auto* function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == token.spelling; });
    if (function == kFunctions.end()) {
      fail_at(token.column, fmt::format("unknown function '{}'; there are {}", token.spelling, function_names()));
    }
    expect("(");
    std::vector<NodePtr> arguments;
    while (!is(")")) {
      arguments.push_back(expression());
      if (!accept(",")) break;
    }
    expect(")");
    if (arguments.size() < function->min_arguments || arguments.size() > function->max_arguments) {
      fail_at(token.column, fmt::format("{} takes {}{} argument{}, not {}", function->name, function->min_arguments,
                                        function->max_arguments > function->min_arguments ? " or more" : "",
                                        function->max_arguments == 1 ? "" : "s", arguments.size()));
    }
    if (function->name == "abs") arguments.push_back(make(Op::negate, {arguments.front()}));
    return make(function->op, std::move(arguments));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Token token_;
  int nesting_ = 0;
};

}  // namespace

bool is_reserved(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kWords = {"true", "false", "True", "False",
                                                             "and",  "or",    "not",  "in"};
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end() ||
         std::any_of(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
}

Expression Expression::parse(std::string_view text) {
  Expression result;
  result.root_ = Parser(text).parse();
  result.text_ = text;
  return result;
}

}  // namespace evo::expr

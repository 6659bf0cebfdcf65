#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expression/value.h"

namespace evo::expr {

/// Words of the language, which cannot be names: true, false, and, or, not, in, and the functions.
bool is_reserved(std::string_view name);

struct Node;

/// One expression of the language that serves constraints, directives, grids, sizes and floors:
/// integers, reals, booleans, 'strings', names, + - * / % << >> & | == != < <= > >= && || ! ?: in,
/// min, max, ceil_div, pow2 (is a power of two), log2 (exact or rounded down); real, sqrt, rsqrt, exp, log, pow, which
/// give reals (so does an operation with a real operand); numbered, which gives text; Python's `and or not`, `//`,
/// `**` (with a literal exponent or a power of two as its base), chained comparisons and tuples after `in` are read
/// too, so that Kernel Tuner's T1 constraints load as they are. Division rounds towards zero as in C. Parses once;
/// copies share the tree.
class Expression {
 public:
  /// The literal `true`.
  Expression();
  /// Throws usage_error naming the column and what was expected. Depth and length are bounded.
  static Expression parse(std::string_view text);
  static Expression constant(Value value);

  /// Throws usage_error for an unknown name, a type mismatch, overflow or a division by zero.
  Value evaluate(const Bindings& known) const;
  std::int64_t evaluate_int(const Bindings& known) const;
  double evaluate_real(const Bindings& known) const;
  bool evaluate_bool(const Bindings& known) const;

  /// The value as far as it follows from what is known: `false && x` is false with x unknown. Empty while
  /// undecided.
  std::optional<Value> evaluate_partially(const Bindings& known) const;

  /// The names that the expression reads, sorted, each once.
  std::vector<std::string> names() const;

  const std::string& text() const { return text_; }
  const Node& root() const { return *root_; }

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace evo::expr

namespace evo {
using expr::Expression;
}  // namespace evo

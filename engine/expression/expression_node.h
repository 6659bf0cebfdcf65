#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/expression/value.h"

/// The tree behind an Expression. For the engine's own passes over it (evaluation, C++ output, residual
/// constraints).
namespace evo::expr {

enum class Op {
  constant,
  name,
  negate,
  logical_not,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  minimum,
  maximum,
  ceil_divide,
  is_pow2,
  log2,
  to_real,
  square_root,
  reciprocal_root,
  exponential,
  logarithm,
  power,
  to_integer,  ///< Without its fraction, as Python's int.
  numbered,    ///< A text once for each number of a range.
  // The rest do not always evaluate every child.
  logical_and,
  logical_or,
  conditional,
  chain,  ///< a < b <= c: `comparisons` between neighbouring children, each child evaluated at most once.
  in,     ///< The first child equals one of the others.
};

struct Node {
  Op op = Op::constant;
  Value value;       ///< constant
  std::string name;  ///< name
  std::vector<std::shared_ptr<const Node>> children;
  std::vector<Op> comparisons;  ///< chain
  int height = 1;
  std::int64_t size = 1;  ///< Nodes of the tree; a shared node counts once for each place.
};

/// Why an expression has no value. The caller that knows the expression's text makes an Error of it.
struct Failure {
  std::string reason;
};

/// The result of `action`. What it fails with becomes a usage_error that quotes the expression.
template <class Action>
auto quoting(const std::string& text, Action action) {
  try {
    return action();
  } catch (const Failure& failure) {
    throw usage_error("'" + text + "': " + failure.reason);
  }
}

/// The symbol of an arithmetic, bitwise or comparing operation that C++ and Python write alike; empty for others.
/// `/` is another: it gives a real number in Python.
std::string_view common_symbol(Op op);

/// Whether the operator is one of == != < <= > >=.
bool is_comparison(Op op);

/// Whether the operator gives a real number whatever its operands are.
bool is_real_function(Op op);

/// Calls the visitor's member for a node: an operator that does not always evaluate every child has one of its own, the
/// others share `strict`.
template <class Visitor>
auto visit(const Node& node, const Visitor& visitor) {
  switch (node.op) {
    case Op::constant:
      return visitor.constant(node);
    case Op::name:
      return visitor.name(node);
    case Op::logical_and:
    case Op::logical_or:
      return visitor.junction(node);
    case Op::conditional:
      return visitor.conditional(node);
    case Op::chain:
      return visitor.chain(node);
    case Op::in:
      return visitor.membership(node);
    default:
      return visitor.strict(node);
  }
}

/// Evaluates one operator up to `numbered` in the list above. Throws Failure.
Value operate(Op op, std::span<const Value> operands);

/// Throws Failure, also for an unknown name.
Value evaluate(const Node& node, const Bindings& known);
/// The value as far as it follows from what is known; empty while undecided. Throws Failure.
std::optional<Value> evaluate_partially(const Node& node, const Bindings& known);

/// Truth of a value: integers are true unless zero. Throws Failure for a string.
bool truth(const Value& value);
/// The integer of a value: booleans are 0 and 1. Throws Failure for a string and a real.
std::int64_t integer(const Value& value);
/// The number of a value as a double. Throws Failure for a string.
double real(const Value& value);
/// "an integer", "a boolean", "a real number", "the string 'xor'": for messages.
std::string description_of(const Value& value);

}  // namespace evo::expr

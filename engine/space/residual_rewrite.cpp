#include "engine/space/residual.h"

// Brings sums, products and comparisons into a form in which what is known stands outermost on the right, so
// that partial genomes with the same totals get the same residuals: (x + 3) + 5 and (x + 6) + 2 become x + 8.
// Only terms that cannot fail are rewritten, and only into terms that cannot fail: there integer arithmetic
// is exact.
namespace evo {

using expr::Op;
using expr::Value;

namespace {

Op mirrored(Op comparison) {
  switch (comparison) {
    case Op::less:
      return Op::greater;
    case Op::less_equal:
      return Op::greater_equal;
    case Op::greater:
      return Op::less;
    case Op::greater_equal:
      return Op::less_equal;
    default:
      return comparison;
  }
}

}  // namespace

bool ResidualStore::is_commutative(Op op) {
  return op == Op::add || op == Op::multiply || op == Op::equal || op == Op::not_equal || op == Op::minimum ||
         op == Op::maximum || op == Op::bit_and || op == Op::bit_or;
}

// Operands of commutative operators: the known one last, else the older term first.
bool ResidualStore::in_order(TermId a, TermId b) const {
  return is_constant(a) == is_constant(b) ? a <= b : is_constant(b);
}

std::optional<TermId> ResidualStore::rewrite(Op op, TermId a, TermId b) {
  switch (op) {
    case Op::add:
      return rewrite_associative(op, 0, a, b);
    case Op::subtract:
      return rewrite_difference(a, b);
    case Op::multiply:
      return rewrite_associative(op, 1, a, b);
    default:
      return expr::is_comparison(op) ? rewrite_comparison(op, a, b) : std::nullopt;
  }
}

std::optional<TermId> ResidualStore::sound(Op op, TermId a, TermId b) {
  const TermId id = make(op, a, b);
  if (terms_[id].may_fail) return std::nullopt;
  return id;
}

std::optional<TermId> ResidualStore::sound(Op op, std::optional<TermId> a, std::optional<TermId> b) {
  if (!a || !b) return std::nullopt;
  return sound(op, *a, *b);
}

// The known right operand of a term of this operator.
bool ResidualStore::ends_in_constant(TermId id, Op op) const {
  return terms_[id].op == op && is_constant(terms_[id].children[1]);
}

// Sums and products. The neutral number is 0 or 1.
std::optional<TermId> ResidualStore::rewrite_associative(Op op, std::int64_t neutral, TermId a, TermId b) {
  if (is_constant(b) && terms_[b].interval.lo == neutral && terms_[a].type == Type::number) return a;
  if (ends_in_constant(a, op)) {
    const auto [rest, known, none] = terms_[a].children;
    if (is_constant(b)) return sound(op, rest, sound(op, known, b));
    return sound(op, sound(op, rest, b), known);
  }
  if (ends_in_constant(b, op)) {
    const auto [rest, known, none] = terms_[b].children;
    return sound(op, sound(op, a, rest), known);
  }
  return std::nullopt;
}

std::optional<TermId> ResidualStore::rewrite_difference(TermId a, TermId b) {
  if (is_constant(b)) return sound(Op::add, a, sound(Op::negate, b, 0));
  if (ends_in_constant(a, Op::add)) {
    const auto [rest, known, none] = terms_[a].children;
    return sound(Op::add, sound(Op::subtract, rest, b), known);
  }
  if (ends_in_constant(b, Op::add)) {
    const auto [rest, known, none] = terms_[b].children;
    return sound(Op::add, sound(Op::subtract, a, rest), sound(Op::negate, known, 0));
  }
  return std::nullopt;
}

// Moves known summands and positive factors to the known side: x * 8 + 3 <= 70 becomes x <= 8.
std::optional<TermId> ResidualStore::rewrite_comparison(Op op, TermId a, TermId b) {
  if (is_constant(a)) return sound(mirrored(op), b, a);
  if (!is_constant(b)) return std::nullopt;
  if (ends_in_constant(a, Op::add)) {
    const auto [rest, known, none] = terms_[a].children;
    return sound(op, rest, sound(Op::subtract, b, known));
  }
  if (!ends_in_constant(a, Op::multiply) || op == Op::equal || op == Op::not_equal) return std::nullopt;
  const auto [rest, known, none] = terms_[a].children;
  if (terms_[known].interval.lo <= 0) return std::nullopt;
  // x * k <= n is x <= floor(n / k), x * k < n is x < ceil(n / k); the others are their negations.
  const TermId floor = make(Op::floor_divide, b, known);
  if (op == Op::less_equal || op == Op::greater) return sound(op, rest, floor);
  const bool exact = is_true(make(Op::equal, make(Op::modulo, b, known), constant(std::int64_t{0})));
  return sound(op, std::optional(rest), exact ? floor : sound(Op::add, floor, constant(std::int64_t{1})));
}

}  // namespace evo

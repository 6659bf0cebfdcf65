#pragma once

#include <string>

#include "engine/expression/expression.h"

namespace evo::expr {

/// The expression as Python, for packages that are written for Python's tools. Known names are folded into it, the
/// others are written as they are; functions of reals are those of `math`. Integers must not be negative: Python's
/// division rounds down. Throws usage_error for what Python has no operation for.
std::string to_python(const Expression& expression, const Bindings& known);

/// A value as a literal: 64, 1e-05, True, "causal".
std::string python_literal(const Value& value);

}  // namespace evo::expr

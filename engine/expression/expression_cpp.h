#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/expression/expression.h"

namespace evo::expr {

/// Names as the C++ around an expression has them, where those are others: {"bytes", "derived_bytes"}.
using WrittenNames = std::map<std::string, std::string, std::less<>>;

/// Expression::to_cpp with names that are not known written so. Operators, comparisons and `?:` are all that is asked
/// of the names' type, and for log2 a static_cast to unsigned long long: it may be a class that checks its arithmetic.
std::string to_cpp(const Expression& expression, const Bindings& known, const WrittenNames& written);

}  // namespace evo::expr

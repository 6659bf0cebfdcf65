#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/expression/expression.h"

namespace evo::expr {

/// Names of an expression that have another name in the C++ around it: {"bytes", "derived_bytes"}.
using WrittenNames = std::map<std::string, std::string, std::less<>>;

/// The expression as C++ with 64-bit arithmetic, for the host code of exported kernels. Known names are folded into it;
/// the others are written as `written` has them, else as they are. The C++ uses operators, comparisons and `?:`, and
/// for log2 a static_cast to unsigned long long: the names may have a class type that checks its arithmetic.
std::string to_cpp(const Expression& expression, const Bindings& known, const WrittenNames& written = {});

}  // namespace evo::expr

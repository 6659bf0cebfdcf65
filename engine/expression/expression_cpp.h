#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "engine/expression/expression.h"

namespace evo::expr {

/// Names of an expression that have another name in the C++ around it: {"bytes", "derived_bytes"}.
using WrittenNames = std::map<std::string, std::string, std::less<>>;
/// Names that stand for real numbers; the others are integers or booleans.
using RealNames = std::set<std::string, std::less<>>;

/// The expression as C++ with 64-bit arithmetic, for the host code of exported kernels. Known names are folded into it;
/// the others are written as `written` has them, else as they are. The C++ uses operators, comparisons and `?:`, and
/// for log2 and reals a static_cast to unsigned long long and to double: the names may have a class type that checks
/// its arithmetic. Names in `reals` are doubles; functions of reals are those of <cmath>.
std::string to_cpp(const Expression& expression, const Bindings& known, const WrittenNames& written = {},
                   const RealNames& reals = {});

/// Whether that C++ is a double.
bool is_real_in_cpp(const Expression& expression, const Bindings& known, const RealNames& reals = {});

}  // namespace evo::expr

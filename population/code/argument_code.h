#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/task/argument.h"

/// Kernel arguments by value, in the C++ of an exported file.
namespace evo {

/// Writes an expression as C++.
using WriteExpression = std::function<std::string(const Expression&)>;

/// The lines that declare argument number `index`: "    float argument_2 = static_cast<float>(S);\n".
std::string declared_argument(const ArgumentSpec& argument, std::size_t index, const WriteExpression& cpp);

/// A null pointer as an argument.
std::string declared_null(std::size_t index);

/// Conditions under which the values of all arguments fit their types, to be joined by &&. `known`: what is known when
/// the code is written; what follows from it fits.
std::vector<std::string> argument_conditions(const std::vector<ArgumentSpec>& arguments, const Bindings& known,
                                             const WriteExpression& cpp);

/// The C++ type of an argument's elements: "unsigned short", "__half".
std::string_view host_type(DType dtype);

}  // namespace evo

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/number.h"
#include "engine/expression/expression.h"

/// A kernel's argument as in task.json and family.json; `evo vgpu --arg` takes numbers instead of expressions:
///   NAME                  a tensor, a workspace or a tensor map
///   TYPE:EXPRESSION       a scalar by value; float4:a,b,c,d a vector
///   {SCALAR;SCALAR...}    a struct with C's layout
///   EXPRESSION            an int
///   null                  a null pointer
namespace evo {

/// A scalar of an argument, or a field of a struct.
struct FieldSpec {
  ValueType type;
  std::vector<Expression> components;
};

struct ArgumentSpec {
  std::string text;               ///< As written.
  std::vector<FieldSpec> fields;  ///< By value. One, unless it is a struct. Of a NAME: an int of that expression.
  bool is_struct = false;
  bool may_be_name = false;  ///< The text is an identifier: a tensor, workspace or tensor map where there is one.
};

/// A variable of the kernel's module and what fills it before a call: "d_filter": "filter".
struct ConstantSpec {
  std::string symbol;  ///< As C++ calls it.
  ArgumentSpec value;  ///< An input of the task, or by value.
  Expression when;
};

/// The name of a variable in C++: "d_filter", "ns::weights".
bool is_variable_name(std::string_view text);

/// Throws usage_error for an unknown type, a wrong number of components, and what is no expression.
ArgumentSpec parse_argument(std::string_view text);

/// The values of the fields. Throws usage_error for a value that the type does not hold.
std::vector<Scalar> evaluate(const ArgumentSpec& argument, const Bindings& known);

}  // namespace evo

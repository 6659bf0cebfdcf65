#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/task/family.h"

namespace evo {

/// A tuning problem in the T1 format (Kernel Tuner, KTT, ...) as a family: its parameters become genes, its
/// conditions constraints. Expressions are Python's as far as such files use them: lists, list(range(...)),
/// list comprehensions and their sums as values; arithmetic, comparisons (chained too), `in`, `and`, `or`,
/// `not` and powers as conditions.
/// `/` divides whole numbers as the expression language does. Throws usage_error naming `name`, the parameter
/// or condition, and the reason.
Family read_t1(std::string_view text, const std::string& name);

/// A T1 file's text with T1's keys as they are usually written: "kernelSpecification" and "kernel_specification" are
/// KernelSpecification. Other keys, what BenchmarkConfig names, and a text that is no JSON stay.
std::string usual_keys_of_t1(const std::string& text);

/// The values of a T1 parameter: "[1, 2, 4] + list(range(8, 65, 8))", "[2**i for i in range(0, 6) if i !=
/// 3]". Numbers with a fraction become text. Throws usage_error.
std::vector<Value> t1_values(std::string_view text);

/// Python's True is 1: booleans among whole numbers become numbers.
void numbers_for_booleans(std::vector<Value>& values);

}  // namespace evo

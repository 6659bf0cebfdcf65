#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/dtype.h"

namespace evo {

/// One value of any dtype. Integers from 2^63 on are unsigned.
using Number = std::variant<std::int64_t, std::uint64_t, double>;

double as_double(Number number);
/// The number itself: a long double also holds every integer of 64 bits.
long double exact(Number number);
std::string text_of(Number number);

/// Why a dtype cannot hold this number: "char holds whole numbers from -128 to 127, not 300". Empty when it can, if
/// rounded.
std::string why_not_held(DType dtype, Number number);

/// A value that a kernel takes by value: a number, or the components of a vector. Doubles for floating types, else
/// integers.
struct Scalar {
  ValueType type;
  std::vector<Number> components;
  bool operator==(const Scalar&) const = default;
};

}  // namespace evo

#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "engine/base/dtype.h"

namespace evo {

/// One value of any dtype. Integers from 2^63 on are unsigned.
using Number = std::variant<std::int64_t, std::uint64_t, double>;

inline double as_double(Number number) {
  return std::visit([](auto held) { return static_cast<double>(held); }, number);
}

/// The number itself: a long double also holds every integer of 64 bits.
inline long double exact(Number number) {
  return std::visit([](auto held) { return static_cast<long double>(held); }, number);
}

/// A value that a kernel takes by value: a number, or the components of a vector.
struct Scalar {
  ValueType type;
  std::vector<Number> components;
  bool operator==(const Scalar&) const = default;
};

}  // namespace evo

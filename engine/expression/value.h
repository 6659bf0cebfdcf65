#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace evo::expr {

/// Integers are 64 bit and checked: overflow and division by zero are errors, never wrap-around.
using Value = std::variant<std::int64_t, bool, std::string>;

/// Values by name: genes, shape parameters, task options, device facts.
using Bindings = std::map<std::string, Value, std::less<>>;

/// The shortest text that parses back to the value ("64", "true", "xor"); strings come without quotes.
std::string to_string(const Value& value);

/// The number that the value's text begins with; 0 when there is none. For decimals, which are kept as text.
double decimal_of(const Value& value);

}  // namespace evo::expr

namespace evo {
using expr::Bindings;
using expr::Value;
}  // namespace evo

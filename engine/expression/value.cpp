#include "engine/expression/value.h"

#include <cstdlib>

namespace evo::expr {

std::string to_string(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  return std::get<std::string>(value);
}

double decimal_of(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  return std::strtod(to_string(value).c_str(), nullptr);
}

}  // namespace evo::expr

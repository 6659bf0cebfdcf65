#include "engine/expression/value.h"

#include <fmt/format.h>

#include <cstdlib>

namespace evo::expr {

std::string to_string(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const double* real = std::get_if<double>(&value)) {
    // A whole number keeps a point, so that it is read as a real again.
    std::string text = fmt::format("{}", *real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return std::get<std::string>(value);
}

double decimal_of(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  if (const double* real = std::get_if<double>(&value)) return *real;
  return std::strtod(to_string(value).c_str(), nullptr);
}

}  // namespace evo::expr

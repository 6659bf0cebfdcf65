#include "engine/base/number.h"

#include <fmt/format.h>

#include <cmath>

namespace evo {

double as_double(Number number) {
  return std::visit([](auto held) { return static_cast<double>(held); }, number);
}

long double exact(Number number) {
  return std::visit([](auto held) { return static_cast<long double>(held); }, number);
}

std::string text_of(Number number) {
  return std::visit([](auto held) { return fmt::format("{}", held); }, number);
}

std::string why_not_held(DType dtype, Number number) {
  const DTypeInfo& format = info_of(dtype);
  const long double value = exact(number);
  // The bounds of 64-bit integers are not doubles.
  const long double least = dtype == DType::s64 ? static_cast<long double>(INT64_MIN) : format.least;
  const long double greatest = dtype == DType::s64   ? static_cast<long double>(INT64_MAX)
                               : dtype == DType::u64 ? static_cast<long double>(UINT64_MAX)
                                                     : format.greatest;
  const bool unbounded = format.floating && dtype != DType::e4m3;
  if (std::isnan(value) ? format.floating : std::isinf(value) && unbounded) return {};
  if (value >= least && value <= greatest && (format.floating || value == std::trunc(value))) return {};
  if (format.floating)
    return fmt::format("{} holds numbers from {:g} to {:g}, not {}", format.cuda_name, least, greatest,
                       text_of(number));
  return fmt::format("{} holds whole numbers from {:.0f} to {:.0f}, not {}", format.cuda_name, least, greatest,
                     text_of(number));
}

}  // namespace evo

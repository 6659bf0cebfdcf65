#include "cli/report/page_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace evo::cli {

double rounded(double value) {
  constexpr int kDigits = 6;
  if (!std::isfinite(value) || value == 0) return value;
  const double scale = std::pow(10.0, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  const double result = std::round(value * scale) / scale;
  return std::isfinite(result) ? result : value;
}

nlohmann::ordered_json number_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(rounded(*value)) : nlohmann::ordered_json(nullptr);
}

std::size_t Numbered::of(const std::string& text) {
  const auto [found, fresh] = numbers_.try_emplace(text, texts_.size());
  if (fresh) texts_.push_back(text);
  return found->second;
}

}  // namespace evo::cli

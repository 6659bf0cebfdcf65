#include "cli/text/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace evo::cli {

std::string microseconds(double value_us) {
  if (!std::isfinite(value_us)) return "-";
  if (value_us >= 1000) return fmt::format("{:.0f}", value_us);
  if (value_us >= 100) return fmt::format("{:.1f}", value_us);
  if (value_us >= 10) return fmt::format("{:.2f}", value_us);
  return fmt::format("{:.3f}", value_us);
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

std::string grouped(double number) {
  if (number < 0x1.0p63) return grouped(static_cast<std::uint64_t>(std::llround(std::max(number, 0.0))));
  return fmt::format("{:.2g}", number);
}

std::string error_figure(double relative_l2) {
  return fmt::format("{:.3g}", relative_l2);
}

std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.1f} %", share * 100) : fmt::format("{:.0f} %", share * 100);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string ratio_text(const PairedRatio& ratio) {
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", ratio.ratio, ratio.low, ratio.high);
}

std::string timing_word(bool modelled) {
  return modelled ? "modelled" : "measured";
}

std::string verdict_counts(const std::map<Verdict, std::uint64_t>& counts) {
  std::vector<std::pair<Verdict, std::uint64_t>> ordered(counts.begin(), counts.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : ordered) parts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string bindings_text(const Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, expr::to_string(value));
  return text;
}

std::string allele_text(const std::optional<Value>& allele) {
  return allele ? expr::to_string(*allele) : "-";
}

}  // namespace evo::cli

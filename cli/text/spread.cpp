#include "cli/text/spread.h"

#include <algorithm>
#include <array>

namespace evo::cli {

std::string spread_bar(std::vector<double> samples, std::size_t cells) {
  constexpr std::array kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (samples.empty()) return "";
  std::ranges::sort(samples);
  // A single outlier would squeeze all others into one character.
  const std::size_t outer = samples.size() / 100;
  const std::vector<double> inner(samples.begin() + static_cast<std::ptrdiff_t>(outer),
                                  samples.end() - static_cast<std::ptrdiff_t>(outer));
  const double least = inner.front();
  const double width = (inner.back() - least) / static_cast<double>(cells);
  if (!(width > 0)) return "";
  std::vector<std::size_t> counts(cells);
  for (const double sample : inner) {
    const auto cell = static_cast<std::size_t>((sample - least) / width);
    ++counts[std::min(cell, cells - 1)];
  }
  const std::size_t most = *std::ranges::max_element(counts);
  std::string bar;
  for (const std::size_t count : counts) {
    const std::size_t height = (count * kHeights.size() + most - 1) / most;  // 1 for a single sample
    bar += count == 0 ? " " : kHeights[height - 1];
  }
  return bar;
}

}  // namespace evo::cli

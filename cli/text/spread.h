#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evo::cli {

/// How samples lie between their 1st and their 99th percentile, in `cells` characters from left to right: "▂█▅▁  ▁". A
/// character is the taller the more samples it stands for; a blank stands for none. Empty when those percentiles are
/// equal. `samples` are in any order.
std::string spread_bar(std::vector<double> samples, std::size_t cells = 16);

}  // namespace evo::cli

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evo::cli {

/// The order in which one run visited the rows of a recorded space. Rows are counted from 0 in the file's order; failed
/// ones are included.
struct Visits {
  std::string space;
  std::string strategy;
  std::uint64_t seed = 0;
  std::vector<std::size_t> order;
};

/// One JSON object a line: {"space":"gemm__RTX3090","strategy":"evolve","seed":0,"order":[17,3]}. Further
/// members are ignored. Throws usage_error naming `file` and the line.
std::vector<Visits> parse_orders(std::string_view text, const std::string& file);
std::string orders_text(const std::vector<Visits>& runs);

}  // namespace evo::cli

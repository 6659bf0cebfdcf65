#include "cli/subject/visit_orders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo::cli {

std::vector<Visits> parse_orders(std::string_view text, const std::string& file) {
  std::vector<Visits> runs;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    try {
      const nlohmann::json json = nlohmann::json::parse(line);
      runs.push_back({json.at("space").get<std::string>(), json.at("strategy").get<std::string>(),
                      json.value("seed", std::uint64_t{0}), json.at("order").get<std::vector<std::size_t>>()});
    } catch (const nlohmann::json::exception& error) {
      throw usage_error(fmt::format("{}: line {}: expected {{\"space\", \"strategy\", \"seed\", \"order\"}}: {}", file,
                                    number, error.what()));
    }
  }
  return runs;
}

std::string orders_text(const std::vector<Visits>& runs) {
  std::string text;
  for (const Visits& run : runs) {
    text += nlohmann::ordered_json{{"space", run.space}, {"strategy", run.strategy}, {"seed", run.seed}}.dump();
    text.pop_back();  // its closing brace
    text += fmt::format(", \"order\": [{}]}}\n", fmt::join(run.order, ", "));
  }
  return text;
}

}  // namespace evo::cli

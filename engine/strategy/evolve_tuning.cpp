#include "engine/strategy/evolve_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

using TunedMember = std::variant<std::size_t EvolveTuning::*, double EvolveTuning::*>;

const std::map<std::string, TunedMember, std::less<>>& fields() {
  static const std::map<std::string, TunedMember, std::less<>> kFields = {
      {"founders", &EvolveTuning::founders},     {"spread", &EvolveTuning::spread},
      {"good_share", &EvolveTuning::good_share}, {"exploration", &EvolveTuning::exploration},
      {"failure", &EvolveTuning::failure},       {"fit_every", &EvolveTuning::fit_every},
      {"memory", &EvolveTuning::memory},         {"bred", &EvolveTuning::bred},
      {"immigrants", &EvolveTuning::immigrants}, {"trees", &EvolveTuning::trees},
      {"tries", &EvolveTuning::tries},           {"pairs", &EvolveTuning::pairs},
      {"turns", &EvolveTuning::turns},           {"beside", &EvolveTuning::beside},
      {"patience", &EvolveTuning::patience},     {"even", &EvolveTuning::even},
      {"steer", &EvolveTuning::steer},
  };
  return kFields;
}

template <typename Number>
Number parse(std::string_view text, std::string_view setting) {
  const std::optional<Number> number = number_in<Number>(text);
  if (!number || !(*number >= 0) || !(*number <= 1e6))
    throw usage_error(fmt::format("strategy evolve: '{}': expected a number from 0 to 1000000", setting));
  return *number;
}

}  // namespace

EvolveTuning parse_evolve_tuning(std::string_view text) {
  EvolveTuning tuning;
  if (text.empty()) return tuning;
  for (const std::string& setting : split(text, ':')) {
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const auto field = fields().find(std::string_view(setting).substr(0, equals));
    if (field == fields().end() || equals == setting.size()) {
      std::vector<std::string> names;
      for (const auto& [name, member] : fields()) names.push_back(name);
      throw usage_error(
          fmt::format("strategy evolve: '{}': expected NAME=VALUE; there are {}", setting, list_of(names)));
    }
    const std::string_view value = std::string_view(setting).substr(equals + 1);
    if (const auto* count = std::get_if<std::size_t EvolveTuning::*>(&field->second))
      tuning.** count = parse<std::size_t>(value, setting);
    else
      tuning.*std::get<double EvolveTuning::*>(field->second) = parse<double>(value, setting);
  }
  if (tuning.memory < 16 || tuning.spread < 1 || tuning.trees < 1 || tuning.good_share > 1)
    throw usage_error("strategy evolve: memory is at least 16, spread and trees at least 1, good_share at most 1");
  return tuning;
}

}  // namespace evo

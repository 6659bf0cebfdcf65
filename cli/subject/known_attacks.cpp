#include "cli/subject/known_attacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/expression/json_place.h"

namespace evo::cli {

std::size_t add_known_attacks(const Store& store, Task& task, const std::string& until) {
  std::vector<std::string> inputs, objectives;
  for (const Tensor& tensor : drawn_tensors(task)) inputs.push_back(tensor.name);
  for (const Objective& objective : task.objectives) objectives.push_back(objective.name);
  std::size_t number = 0;
  for (const AttackRecord& found : store.attacks(task.hash)) {
    if (!until.empty() && found.at > until) continue;
    const std::string place = fmt::format("an attack of {} in {}", task.name, store.path().string());
    Regime regime = read_regime(JsonPlace::read({{place, found.regime}}, place), fmt::format("attack_{}", ++number),
                                inputs, objectives);
    const auto same_name = [&](const Regime& known) { return known.name == regime.name; };
    if (std::ranges::any_of(task.regimes, same_name)) regime.name = "found_" + regime.name;
    task.regimes.push_back(std::move(regime));
  }
  return number;
}

std::size_t add_known_attacks(const std::string& database, Task& task) {
  if (!std::filesystem::exists(database)) return 0;
  return add_known_attacks(Store::open(database, Store::Mode::write), task);
}

}  // namespace evo::cli

#include "cli/subject/known_attacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/subject/lookup.h"
#include "cli/text/result_text.h"
#include "engine/expression/json_place.h"

namespace evo::cli {
namespace {

Regime regime_of(const AttackRecord& found, const Task& task, const std::string& name, const Store& store) {
  std::vector<std::string> inputs, objectives;
  for (const Tensor& tensor : drawn_tensors(task)) inputs.push_back(tensor.name);
  for (const Objective& objective : task.objectives) objectives.push_back(objective.name);
  const std::string place = fmt::format("an attack of {} in {}", task.name, store.path().string());
  return read_regime(JsonPlace::read({{place, found.regime}}, place), name, inputs, objectives);
}

}  // namespace

std::size_t add_known_attacks(const Store& store, Task& task, const std::string& until) {
  std::size_t number = 0;
  for (const AttackRecord& found : store.attacks(task.hash)) {
    if (!until.empty() && found.at > until) continue;
    Regime regime = regime_of(found, task, fmt::format("attack_{}", ++number), store);
    const auto same_name = [&](const Regime& known) { return known.name == regime.name; };
    if (std::ranges::any_of(task.regimes, same_name)) regime.name = "found_" + regime.name;
    task.regimes.push_back(std::move(regime));
  }
  return number;
}

std::size_t add_known_attacks(const std::string& database, Task& task) {
  if (!has_database(database)) return 0;
  return add_known_attacks(Store::open(database, Store::Mode::write), task);
}

void add_attacks_on_file(const std::string& database, Claim& claim) {
  if (!has_database(database)) return;
  const std::string hash = std::exchange(claim.task.hash, task_hash_in_database(claim));
  add_known_attacks(Store::open(database, Store::Mode::read), claim.task);
  claim.task.hash = hash;
}

std::vector<KnownAttack> further_attacks(const Store& store, const Task& task) {
  std::vector<KnownAttack> further;
  for (const AttackRecord& found : store.attacks(task.hash)) {
    const auto same = [&](const Regime& known) { return json_of(known) == found.regime; };
    if (std::ranges::none_of(task.regimes, same)) further.push_back({regime_of(found, task, "", store), found.shape});
  }
  return further;
}

std::string task_hash_in_database(const Claim& claim) {
  return claim.contract == Contract::installed ? claim.task.hash : claim.task_hash;
}

AttackRecord attack_record(const AttackFind& find, const Task& task, const Target& target, const DeviceInfo& device,
                           const std::string& task_hash, const std::string& origin) {
  Regime regime = find.regime;
  if (task.objectives.size() > 1) regime.objectives = {std::string(limiting_objective(target.objective))};
  AttackRecord record{.task = task.name,
                      .task_hash = task_hash,
                      .device = record_of(device),
                      .regime = json_of(regime),
                      .shape = find.shape.parameters,
                      .error = {},
                      .reason = reason_text(find.failure.reason, find.failure.mismatch),
                      .origin = origin,
                      .evo_version = EVO_VERSION};
  if (find.error > 0) record.error = find.error;
  return record;
}

std::string pasted(const AttackRecord& record) {
  return fmt::format("\"attack\": {}", record.regime);
}

}  // namespace evo::cli

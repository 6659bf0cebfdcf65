#include "tests/templates/devices_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/device/abilities.h"
#include "engine/device/launch_rules.h"
#include "engine/task/scope.h"
#include "evaluator/vgpu/cost/device_models.h"

namespace evo::test {
namespace {

std::string capability(int sm) {
  return fmt::format("{}.{}", sm / 10, sm % 10);
}

/// "| 7.5 | 8.0 | ... |" behind some first columns, and the line below it.
std::string head(const std::string& first) {
  std::string names = first, rule = "|";
  for (const LaunchRules& rules : all_launch_rules()) names += " " + capability(rules.sm) + " |";
  for (const char letter : names.substr(1)) rule += letter == '|' ? "---|" : "";
  return names + "\n" + rule + "\n";
}

std::string cells(const auto& cell) {
  std::string row;
  for (const LaunchRules& rules : all_launch_rules()) row += fmt::format(" {} |", cell(rules));
  return row + "\n";
}

/// Whether a family has a legal genome with a task's default options, or requires what one other value of an option is.
bool serves(const Task& task, const Family& family, int sm) {
  const std::vector<std::string> serving = serving_families(task.name, sm);
  if (std::ranges::find(serving, family.name) != serving.end()) return true;
  return std::ranges::any_of(task.options, [&](const Option& option) {
    return std::ranges::any_of(option.values, [&](const Value& value) {
      Bindings options = task.default_options();
      options[option.name] = value;
      return may_serve(family, joined(gpu_of(sm).facts, options));
    });
  });
}

}  // namespace

Aimed aimed_at(const std::string& task, int sm, const Bindings& options) {
  return {task, gpu_of(sm), load_task(shipped_templates(), task).shape_sets.at("vgpu").timed, options};
}

std::vector<std::string> serving_families(const std::string& task, int sm, const Bindings& options) {
  std::vector<std::string> names;
  try {
    const Space space = aimed_at(task, sm, options).space();
    for (const Family& family : space.families()) names.push_back(family.name);
  } catch (const Error&) {  // None has.
  }
  return names;
}

std::string abilities_table() {
  std::string table = head("| fact | what |");
  const auto add = [&](std::string_view name, std::string_view about, const auto& cell) {
    table += fmt::format("| `{}` | {} |", name, about) + cells(cell);
  };
  add("threads_per_sm", "threads on an SM", [](const LaunchRules& rules) { return rules.threads_per_sm(); });
  add("smem_per_sm", "KiB of shared memory of an SM",
      [](const LaunchRules& rules) { return rules.smem_per_sm_bytes() / 1024; });
  add("smem_per_block", "KiB of a block",
      [](const LaunchRules& rules) { return rules.smem_per_block_optin_bytes() / 1024; });
  for (const Ability& ability : abilities())
    add(ability.name, ability.about, [&](const LaunchRules& rules) { return ability.at(rules.sm) ? "yes" : ""; });
  return table;
}

std::string families_table() {
  std::string table = head("| task | family |");
  for (const std::string& name : task_names(shipped_templates())) {
    const Task task = load_task(shipped_templates(), name);
    for (const Family& family : load_families(shipped_templates(), task))
      table += fmt::format("| {} | {} |", name, family.name) +
               cells([&](const LaunchRules& rules) { return serves(task, family, rules.sm) ? "yes" : ""; });
  }
  return table;
}

std::string models_table() {
  std::string table =
      "| model | GPU | capability | SMs | GHz | GB | GB/s | f16 TFLOP/s |\n|---|---|---|---|---|---|---|---|\n";
  for (const vgpu::DeviceModel& model : vgpu::device_models()) {
    const double rate = std::max({model.mma.half, model.wgmma.half, model.tcgen05.half});
    const double half = rate * model.sm_count * model.sustained_clock_ghz * 1e-3;
    table += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {:.0f} |\n", model.name, model.title,
                         capability(model.sm), model.sm_count, model.sustained_clock_ghz,
                         model.memory_bytes / 1'000'000'000, model.memory_gbytes_per_s, half);
  }
  return table;
}

}  // namespace evo::test

#include "cli/selftest/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/judge/output_comparison.h"

namespace evo::cli {
namespace {

/// More seeds for each shape and regime than validation uses, because a limit must hold for new draws.
constexpr int kMoreSeeds = 2;
/// Fixed, so that a calibration is a property of the task and repeats.
constexpr std::uint64_t kCalibrationSalt = 0x63616c6962726174;

std::vector<Case> cases_of(const Task& task, const Target& target, const CasePlan& plan) {
  std::vector<Case> cases = plan.cases;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Case& one : plan.cases) {
    if (!seen.emplace(one.shape.name, one.regime.name).second) continue;
    std::ranges::move(more_cases(task, target, one, kCalibrationSalt, kMoreSeeds), std::back_inserter(cases));
  }
  return cases;
}

PipelineOptions options_for(const SourceTree& tree, const Task& task, const Target& target, const DeviceInfo& device) {
  PipelineOptions options;
  options.task = load_task(tree, task.name);
  options.tree = tree;
  options.target = target;
  options.device = device;
  options.salt = kCalibrationSalt;
  options.run_deadline_s = 60;
  return options;
}

}  // namespace

CalibrationResult calibrate(const SourceTree& tree, const Task& task, const DeviceInfo& device) {
  SourceTree without_measured = tree;
  const std::string file = task.name + "/limits.json";
  if (!tree.contains(file)) {
    throw usage_error(fmt::format("task {} has no {} with an emulation (docs/trust.md)", task.name, file));
  }
  // Earlier measurements may be of another reference.
  auto json = nlohmann::ordered_json::parse(tree.find(file)->second, nullptr, false);
  if (json.is_object()) {
    json.erase("measured");
    json.erase("regimes");
    without_measured[file] = json.dump();
  }
  const Calibration calibration = load_calibration(without_measured, task).value();
  const Target target = make_target(task, device.kind, {}, task.default_options());
  const CasePlan plan = plan_cases(task, target, device.kind, kCalibrationSalt);
  const PipelineOptions exact_options = options_for(tree, task, target, device);
  const PipelineOptions emulated_options = options_for(edited(tree, calibration.emulation), task, target, device);
  ExtraOracles exact(exact_options, plan, nullptr), emulated(emulated_options, plan, nullptr);
  CalibrationResult result{.task = task.name,
                           .device = device,
                           .salt = kCalibrationSalt,
                           .factor = calibration.factor,
                           .floors = {},
                           .limits = {}};
  for (const Case& one : cases_of(task, target, plan)) {
    const auto want = exact.get(one), got = emulated.get(one);
    Floor& floor = result.floors[one.regime.name];
    ++floor.cases;
    for (std::size_t output = 0; output < want->size(); ++output) {
      if (want->at(output).dtype != DType::f32) continue;
      Limits rows;
      rows.row_l2 = 1;
      const Difference difference = compare(DType::f32, got->at(output).bytes, want->at(output), rows,
                                            row_of(task, target.options, one.shape, output));
      floor.row_l2 = std::max(floor.row_l2, difference.row_l2);
      floor.relative_l2 = std::max(floor.relative_l2, difference.relative_l2);
      floor.cosine = std::min(floor.cosine, difference.cosine);
    }
  }
  for (const auto& [regime, floor] : result.floors) {
    // A regime in which every answer is zero has no error to measure.
    Limits& limits = result.limits[regime] = task.limits;
    if (floor.relative_l2 > 0) limits = limits_from_floor(floor.relative_l2, floor.cosine, calibration.factor);
    limits.row_l2 = floor.row_l2 * calibration.factor;
  }
  return result;
}

std::string with_measured(const SourceTree& tree, const Task& task, const CalibrationResult& result) {
  auto json = nlohmann::ordered_json::parse(tree.find(task.name + "/limits.json")->second);
  json.erase("measured");
  json.erase("regimes");
  SourceTree without_measured = tree;
  without_measured[task.name + "/limits.json"] = json.dump();
  const Calibration calibration = load_calibration(without_measured, task).value();
  json["measured"] = {{"emulation_hash", emulation_hash(tree, task, calibration)},
                      {"device", result.device.name},
                      {"kind", result.device.kind},
                      {"evo", EVO_VERSION},
                      {"salt", fmt::format("{:016x}", result.salt)}};
  for (const auto& [name, limits] : result.limits) {
    const Floor& floor = result.floors.at(name);
    json["regimes"][name] = {{"relative_l2", limits.relative_l2}, {"cosine", limits.cosine},
                             {"row_l2", limits.row_l2},           {"floor_relative_l2", floor.relative_l2},
                             {"floor_row_l2", floor.row_l2},      {"floor_cosine", floor.cosine}};
  }
  return json.dump(2) + "\n";
}

}  // namespace evo::cli

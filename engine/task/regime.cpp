#include "engine/task/regime.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/json_place.h"
#include "engine/record/enumerators.h"

namespace evo {
namespace {

StepKind parse_step(std::string_view name) {
  if (const auto step = enumerator_named<StepKind>(name)) return *step;
  const std::vector<std::string> known(kEnumeratorNames<StepKind>.begin(), kEnumeratorNames<StepKind>.end());
  throw usage_error(fmt::format("unknown step '{}'{}", name, suggestion(std::string(name), known)));
}

std::vector<std::string> read_names(const JsonPlace& place, std::string_view what,
                                    const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (const JsonPlace& item : place.items()) {
    require_known(item, what, item.text(), known);
    names.push_back(item.text());
  }
  return names;
}

DrawStep read_step(const JsonPlace& place, const std::vector<std::string>& inputs) {
  DrawStep step;
  step.step = place.at("step").read_as(parse_step);
  const StepMembers members = members_of(step.step);
  std::vector<std::string_view> keys = {"step", "tensors"};
  if (members.amount) keys.emplace_back("amount");
  if (members.share) keys.emplace_back("share");
  if (members.like) keys.emplace_back("like");
  place.allow_only(keys);
  if (members.amount) {
    step.amount = place.at("amount").number();
    const bool divides = step.step == StepKind::heavy_tail || step.step == StepKind::rounded;
    if (std::fabs(step.amount) > kLargestStepped || (divides && step.amount <= 0))
      place.at("amount").fail(divides ? std::string("must be above 0")
                                      : fmt::format("must be within +-{}", kLargestStepped));
  }
  if (members.share) {
    step.share = place.at("share").number();
    if (step.share <= 0 || step.share > 1) place.at("share").fail("must be above 0 and at most 1");
  }
  if (members.like) {
    step.like = place.at("like").text();
    require_known(place.at("like"), "input", step.like, inputs);
  }
  if (const auto tensors = place.find("tensors")) step.tensors = read_names(*tensors, "input", inputs);
  return step;
}

}  // namespace

StepMembers members_of(StepKind kind) {
  switch (kind) {
    case StepKind::outliers:
    case StepKind::few_rows:
    case StepKind::first_rows:
    case StepKind::last_rows:
      return {.amount = true, .share = true};
    case StepKind::zeros:
      return {.share = true};
    case StepKind::like:
      return {.like = true};
    case StepKind::constant_rows:
    case StepKind::constant_columns:
    case StepKind::ascending:
    case StepKind::positive:
    case StepKind::negative:
    case StepKind::alternating:
      return {};
    default:
      return {.amount = true};
  }
}

Regime read_regime(const JsonPlace& place, const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& objectives) {
  place.allow_only({"distribution", "gain", "tensors", "objectives", "unit_scales", "steps"});
  Regime regime;
  regime.name = name;
  const auto steps = place.find("steps");
  if (const auto distribution = place.find("distribution"); distribution || !steps)
    regime.distribution = place.at("distribution").read_as(parse_distribution);
  if (const auto gain = place.find("gain")) regime.gain = gain->number();
  if (const auto tensors = place.find("tensors")) regime.tensors = read_names(*tensors, "input", inputs);
  if (const auto given = place.find("objectives")) regime.objectives = read_names(*given, "objective", objectives);
  if (const auto unit_scales = place.find("unit_scales")) regime.unit_scales = unit_scales->boolean();
  if (steps)
    for (const JsonPlace& step : steps->items()) regime.steps.push_back(read_step(step, inputs));
  return regime;
}

std::string json_of(const Regime& regime) {
  using Json = nlohmann::ordered_json;
  Json json = {{"distribution", enumerator_name(regime.distribution)}};
  if (regime.gain != 1) json["gain"] = regime.gain;
  if (!regime.tensors.empty()) json["tensors"] = regime.tensors;
  if (!regime.objectives.empty()) json["objectives"] = regime.objectives;
  if (regime.unit_scales) json["unit_scales"] = true;
  for (const DrawStep& step : regime.steps) {
    const StepMembers members = members_of(step.step);
    Json one = {{"step", enumerator_name(step.step)}};
    if (members.amount) one["amount"] = step.amount;
    if (members.share) one["share"] = step.share;
    if (members.like) one["like"] = step.like;
    if (!step.tensors.empty()) one["tensors"] = step.tensors;
    json["steps"].push_back(std::move(one));
  }
  return json.dump();
}

Distribution parse_distribution(std::string_view name) {
  if (const auto distribution = enumerator_named<Distribution>(name)) return *distribution;
  const std::vector<std::string> known(kEnumeratorNames<Distribution>.begin(), kEnumeratorNames<Distribution>.end());
  throw usage_error(fmt::format("unknown distribution '{}'{}", name, suggestion(std::string(name), known)));
}

}  // namespace evo

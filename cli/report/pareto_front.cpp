#include "cli/report/pareto_front.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "cli/subject/lookup.h"
#include "cli/text/format.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

/// The mean over the draws of a shape and regime. Null where the candidate has none.
std::optional<double> error_at(const Evaluation& evaluation, const std::string& shape, const std::string& regime) {
  double sum = 0;
  int draws = 0;
  for (const CaseError& error : evaluation.errors) {
    if (error.shape != shape || error.regime != regime) continue;
    sum += error.relative_l2;
    ++draws;
  }
  return draws > 0 ? std::optional(sum / draws) : std::nullopt;
}

/// An error that is no rounding.
constexpr double kWrongFrom = 0.1;

/// Whether a rival belongs beside the front: also one that errs by more than the objective admits, as its error says.
bool belongs(const RivalResult& rival) {
  const bool answers = rival.verdict == Verdict::valid || rival.verdict == Verdict::wrong_answer;
  return answers && rival.median_us && rival.relative_l2 && *rival.relative_l2 < kWrongFrom;
}

/// The rivals that a candidate was timed in turns with on a device of this model. The newest sitting that has a rival
/// counts.
void add_rivals(Front& front, const std::vector<Sitting>& sittings, const DeviceRecord& device,
                std::map<std::string, std::string>& newest) {
  for (const Sitting& sitting : sittings) {
    if (device_key(sitting.device) != device_key(device)) continue;
    for (const RivalResult& rival : sitting.rivals) {
      std::string& at = newest[rival.name];
      if (!belongs(rival) || sitting.at <= at) continue;
      at = sitting.at;
      std::erase_if(front.rivals, [&](const FrontPoint& one) { return one.name == rival.name; });
      FrontPoint point{.name = rival.name};
      point.latency_us = *rival.median_us;
      point.error = *rival.relative_l2;
      front.rivals.push_back(std::move(point));
    }
  }
}

bool faster(const FrontPoint& a, const FrontPoint& b) {
  return std::tie(a.latency_us, a.error, a.candidate, a.name) < std::tie(b.latency_us, b.error, b.candidate, b.name);
}

/// Marks those that no other beats in both, and puts them first.
void find_front(std::vector<FrontPoint>& points) {
  std::ranges::sort(points, faster);
  double least_error = std::numeric_limits<double>::infinity();
  for (FrontPoint& point : points) {
    point.on_front = point.error < least_error;
    least_error = std::min(least_error, point.error);
  }
  std::ranges::stable_partition(points, &FrontPoint::on_front);
}

}  // namespace

std::vector<Rival> read_rivals(const std::vector<std::string>& files) {
  std::vector<Rival> rivals;
  for (const std::string& file : files) {
    std::ifstream stream(file);
    if (!stream) throw usage_error(fmt::format("cannot read {}", file));
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const auto json = nlohmann::json::parse(line, nullptr, false);
      const auto text = [&](const char* key) {
        return json.is_object() && json.contains(key) && json[key].is_string();
      };
      const auto positive = [&](const char* key) {
        return json.is_object() && json.contains(key) && json[key].is_number() && json[key].get<double>() > 0;
      };
      if (!text("name") || !text("shape") || !positive("us") || !positive("error")) {
        throw usage_error(fmt::format(
            R"({}:{}: expected a rival like {{"name": "cuDNN e4m3", "shape": "mission", "us": 10.8, "error": 0.035}})",
            file, number));
      }
      FrontPoint rival{.name = json["name"].get<std::string>()};
      rival.latency_us = json["us"].get<double>();
      rival.error = json["error"].get<double>();
      rivals.push_back({json["shape"].get<std::string>(), std::move(rival)});
    }
  }
  return rivals;
}

std::vector<Front> pareto_fronts(const Store& store, const FrontFilter& filter) {
  using Key = std::tuple<std::string, std::string, std::string>;  // Device, shape, options.
  std::map<Key, Front> fronts;
  std::map<Key, std::map<std::string, std::string>> newest;  // When the rival of that name was timed.
  for (const RunRow& run : store.runs()) {
    const Target& target = run.info.target;
    const bool on_device = filter.device.empty() || is_called(run.info.device, filter.device);
    if (run.info.task != filter.task || target.timed.size() != 1 || !on_device) continue;
    const std::string& shape = target.timed.front().name;
    if (!filter.shape.empty() && shape != filter.shape) continue;
    const Key key = {device_key(run.info.device), shape, bindings_text(target.options)};
    Front& front = fronts[key];
    front.device = run.info.device.name;
    front.shape = shape;
    front.options = bindings_text(target.options);
    front.modelled = kind_named(run.info.device.kind).modelled;
    for (const OutcomeRow& outcome : store.outcomes(run.id)) {
      if (!outcome.latency_us) continue;
      const auto candidate = store.candidate(outcome.candidate);
      if (candidate) add_rivals(front, candidate->sittings, run.info.device, newest[key]);
      const auto error = candidate ? error_at(candidate->evaluation, shape, filter.regime) : std::nullopt;
      if (!error) continue;
      FrontPoint point{.candidate = outcome.candidate, .objective = target.objective, .genome = outcome.genome};
      point.latency_us = *outcome.latency_us;
      point.error = *error;
      front.candidates.push_back(std::move(point));
    }
  }
  const auto rivals = read_rivals(filter.rivals);
  std::vector<Front> found;
  for (auto& [key, front] : fronts) {
    if (front.candidates.empty()) continue;
    find_front(front.candidates);
    for (const auto& [shape, rival] : rivals)
      if (shape == front.shape) front.rivals.push_back(rival);
    std::ranges::sort(front.rivals, faster);
    found.push_back(std::move(front));
  }
  return found;
}

}  // namespace evo::cli

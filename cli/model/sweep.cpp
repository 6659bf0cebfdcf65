#include "cli/model/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/subject/recordings.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/replay/recording_read.h"

namespace evo::cli {
namespace {

void add_points(const Recording& recording, Sweep& sweep) {
  for (const RecordedRow& row : recording.rows) {
    Bindings genes = genome_of(recording.family, row.alleles).genes;
    if (row.latency_us)
      sweep.points.push_back({std::move(genes), *row.latency_us});
    else if (was_built(row.verdict))
      sweep.failed.push_back({std::move(genes), 0});
  }
}

}  // namespace

Sweep read_sweep(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  require_shallow_json(text, path.string());
  const Json json = Json::parse(text, nullptr, false);
  const auto is_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  if (is_text("problem_size")) {
    throw usage_error(fmt::format("{} is of the shapes {}: evo model compares sweeps of one shape", path.string(),
                                  json["problem_size"].get<std::string>()));
  }
  if (!json.is_object() || !is_text("kernel_name") || !is_text("device_name") || !json.contains("problem_size") ||
      !json["problem_size"].is_array()) {
    throw usage_error(
        fmt::format("{} is no Kernel Tuner cache with kernel_name, device_name and problem_size", path.string()));
  }
  const Recording recording = read_recording(text, path.stem().stem().string());
  Sweep sweep;
  sweep.name = recording.name;
  sweep.task = json["kernel_name"].get<std::string>();
  sweep.gpu = json["device_name"].get<std::string>();
  sweep.shape = joined(json["problem_size"], ",", [&](const Json& size) { return size.dump(); });
  add_points(recording, sweep);
  if (sweep.points.empty()) throw usage_error(fmt::format("{} has no measured configuration", path.string()));
  return sweep;
}

std::vector<Sweep::Point> draw(const Sweep& sweep, std::size_t skip, std::size_t limit) {
  std::vector<Sweep::Point> order = sweep.points;
  Rng rng(0);
  for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i], order[i + rng.below(order.size() - i)]);
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(skip, order.size())));
  order.resize(std::min(limit, order.size()));
  return order;
}

}  // namespace evo::cli

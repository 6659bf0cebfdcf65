#include "population/results/recorded_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/hash.h"
#include "engine/base/json_depth.h"
#include "engine/replay/recording_read.h"
#include "engine/task/point.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string task_name(const std::string& wish) {
  std::string name;
  for (const char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "kernel_" + name : name;
}

/// The problem's size as Kernel Tuner has it: a number, a text, or a list of these.
Shape shape_of(const Json& json) {
  const auto found = json.is_object() ? json.find("problem_size") : json.end();
  Shape shape;
  if (json.is_object() && found != json.end() && !found->is_null()) {
    const Json extents = found->is_array() ? *found : Json::array({*found});
    for (const Json& extent : extents) {
      const std::string text = extent.is_string() ? extent.get<std::string>() : extent.dump();
      shape.name += (shape.name.empty() ? "" : "x") + text;
      if (extent.is_number_integer())
        shape.parameters[fmt::format("problem_{}", shape.parameters.size())] = extent.get<std::int64_t>();
    }
  }
  if (shape.name.empty()) shape.name = "recorded";
  return shape;
}

}  // namespace

Results recorded_results(std::string_view text, const std::string& file) {
  const Recording recording = read_recording(text, file);
  const Json json = Json::parse(text, nullptr, false);  // An unfinished cache names nothing.
  const std::string kernel = text_of(json, "kernel_name"), device = text_of(json, "device_name");
  const Shape shape = shape_of(json);
  Results results;
  RunInfo& info = results.info;
  info.task = task_name(kernel.empty() ? std::filesystem::path(file).stem().string() : kernel);
  std::string genes;
  for (const Gene& gene : recording.family.genes) genes += gene.name + ",";
  info.task_hash = hash_hex("recorded elsewhere: " + info.task + ": " + genes);
  info.evo_version = "none: recorded elsewhere";
  info.device = {.id = std::string(kRecordedElsewhere),
                 .kind = "cuda",
                 .name = device.empty() ? "unnamed device" : device,
                 .arch = "unknown",
                 .uuid = "",
                 .driver = "",
                 .facts = {}};
  info.target.objective = "latency";
  info.target.timed = info.target.validated = {shape};
  info.objective = "latency " + shape.name;
  Family family = recording.family;
  family.name = "recorded";
  for (const RecordedRow& row : recording.rows) {
    ResultRow result{genome_of(family, row.alleles), row.verdict, "", 0, 0, {}, row.cost_s * 1e3};
    if (row.latency_us) {
      result.latency_us = *row.latency_us;
      result.timings.push_back({shape.name, false, false, *row.latency_us, *row.latency_us, *row.latency_us, 0, {}});
    }
    results.rows.push_back(std::move(result));
  }
  return results;
}

}  // namespace evo

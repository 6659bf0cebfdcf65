#include "population/results/description.h"

#include <nlohmann/json.hpp>

#include "engine/device/device_kind.h"
#include "engine/expression/json_value.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

constexpr double kUsPerMs = 1e3;

Bindings read_sizes(const JsonPlace& shape) {
  Bindings sizes;
  for (const auto& [name, size] : shape.members()) sizes[name] = size.integer();
  if (sizes.empty()) shape.fail("its sizes are missing");
  return sizes;
}

RunInfo read_info(const JsonPlace& evo) {
  RunInfo info;
  info.task = evo.at("task").text();
  info.task_hash = evo.at("task_hash").text();
  info.objective = evo.at("objective").text();
  info.evo_version = evo.at("version").text();
  const JsonPlace device = evo.at("device");
  info.device = {
      device.at("id").text(), device.at("kind").text(), device.at("name").text(), device.at("arch").text(), "", "", {}};
  info.target.objective = info.objective.substr(0, info.objective.find(' '));
  info.target.options = evo.at("options").values();
  for (const auto& [name, sizes] : evo.at("shapes").members()) info.target.timed.push_back({name, read_sizes(sizes)});
  if (info.target.timed.empty()) evo.at("shapes").fail("at least one is needed");
  info.target.validated = info.target.timed;
  return info;
}

}  // namespace

std::string description_of(const Results& results, const std::vector<Parameter>& parameters) {
  const RunInfo& info = results.info;
  ordered_json shapes = ordered_json::object(), genes = ordered_json::array();
  for (const Shape& shape : info.target.timed) shapes[shape.name] = to_json<ordered_json>(shape.parameters);
  for (const Parameter& parameter : parameters) {
    ordered_json gene = {{"name", parameter.name}, {"kind", name_of(parameter.kind)}, {"when", parameter.when}};
    if (results.families.size() > 1) gene["families"] = parameter.families;
    genes.push_back(gene);
  }
  const ordered_json description = {
      {"version", info.evo_version},
      {"task", info.task},
      {"task_hash", info.task_hash},
      {"families", names_of(results.families)},
      {"objective", info.objective},
      {"options", to_json<ordered_json>(info.target.options)},
      {"shapes", shapes},
      {"device",
       {{"id", info.device.id}, {"kind", info.device.kind}, {"name", info.device.name}, {"arch", info.device.arch}}},
      {"timing", kind_named(info.device.kind).modelled ? "modelled" : "measured"},
      {"runs", results.runs},
      {"genes", genes}};
  return description.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Description read_description(const JsonPlace& evo) {
  Description description;
  description.info = read_info(evo);
  for (const JsonPlace& gene : evo.at("genes").items()) description.genes.push_back(gene.at("name").text());
  const std::vector<JsonPlace> families = evo.at("families").items();
  if (families.size() == 1) description.family = families.front().text();
  return description;
}

Genome read_genome(const Description& description, const JsonPlace& configuration,
                   const std::set<std::string>& inactive) {
  Genome genome{description.family, {}};
  for (const std::string& gene : description.genes) {
    const std::optional<JsonPlace> value = configuration.find(gene);
    if (!value || inactive.contains(gene)) continue;
    if (description.family.empty() && gene == "family")
      genome.family = value->text();
    else
      genome.genes[gene] = value->value();
  }
  if (genome.family.empty()) configuration.fail("no family");
  return genome;
}

double read_us(const JsonPlace& milliseconds) {
  const double number = milliseconds.number();
  if (!(number > 0)) milliseconds.fail("expected a number above zero");
  return number * kUsPerMs;
}

std::vector<Timing> shape_timings(const RunInfo& info, double latency_us,
                                  const std::function<double(const std::string& shape)>& shape_us,
                                  const std::optional<JsonPlace>& samples) {
  const std::vector<Shape>& shapes = info.target.timed;
  std::vector<Timing> timings;
  for (const Shape& shape : shapes) {
    const double us = shapes.size() == 1 ? latency_us : shape_us(shape.name);
    timings.push_back({shape.name, kind_named(info.device.kind).modelled, false, us, us, us, 0, {}});
  }
  if (timings.size() == 1 && samples) {
    for (const JsonPlace& sample : samples->items()) timings.front().samples_us.push_back(sample.number() * kUsPerMs);
  }
  return timings;
}

}  // namespace evo

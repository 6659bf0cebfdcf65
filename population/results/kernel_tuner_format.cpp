#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/json_value.h"
#include "population/results/description.h"
#include "population/results/formats.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

const char* error_name(OutcomeClass outcome) {
  if (outcome == OutcomeClass::invalid) return "InvalidConfig";
  return outcome == OutcomeClass::compile ? "CompilationFailedConfig" : "RuntimeFailedConfig";
}

/// As Python prints the value: Kernel Tuner looks entries up by their values' text.
std::string python_text(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  return expr::to_string(value);
}

/// One shape: its sizes. Several: their names, as the schema takes text too.
ordered_json problem_size(const Results& results) {
  const std::vector<Shape>& timed = results.info.target.timed;
  ordered_json sizes = ordered_json::array();
  if (timed.size() != 1) return joined(timed, " ", &Shape::name);
  for (const std::string& name : results.shape_parameters)
    sizes.push_back(to_json<ordered_json>(timed.front().parameters.at(name)));
  return sizes;
}

std::string entry_line(const ResultRow& row, const std::vector<Parameter>& parameters, std::size_t timed_shapes) {
  ordered_json entry;
  std::vector<std::string> key, inactive;
  for (const Parameter& parameter : parameters) {
    const Value value = shown_value(row, parameter);
    key.push_back(python_text(value));
    entry[parameter.name] = to_json<ordered_json>(value);
    if (!value_of(row.genome, parameter)) inactive.push_back(parameter.name);
  }
  const OutcomeClass outcome = outcome_class_of(row.verdict);
  if (outcome == OutcomeClass::ok) {
    entry["time"] = milliseconds(row.latency_us);
    if (const std::vector<double> samples = objective_samples_ms(row); !samples.empty()) entry["times"] = samples;
    for (const Timing& timing : row.timings) {
      if (!timing.cold && timed_shapes > 1) entry["time of " + timing.shape] = milliseconds(timing.median_us);
    }
    // JSON has no NaN. An unknown error, as from a T4 file, is left out.
    if (std::isfinite(row.worst_relative_l2)) entry["relative_l2"] = row.worst_relative_l2;
  } else {
    entry["time"] = error_name(outcome);
    entry["verdict"] = name_of(row.verdict);
  }
  entry["compile_time"] = milliseconds(row.compile_ms * 1e3);
  entry["verification_time"] = 0;
  entry["benchmark_time"] = benchmark_ms(row);
  entry["strategy_time"] = 0;
  entry["framework_time"] = 0;
  entry["timestamp"] = row.recorded_at;
  if (!inactive.empty()) entry["inactive"] = inactive;
  return ordered_json(fmt::format("{}", fmt::join(key, ","))).dump() + ": " + entry.dump();
}

// ---- Reading

Verdict read_failure(const JsonPlace& place) {
  try {
    const Verdict verdict = parse_verdict(place.text());
    if (verdict != Verdict::valid && verdict != Verdict::duplicate) return verdict;
  } catch (const Error&) {
    // Reported below, with its place.
  }
  place.fail(fmt::format("'{}' is no way to fail", place.text()));
}

ResultRow read_entry(const Description& description, const JsonPlace& entry) {
  std::set<std::string> inactive;
  if (const auto names = entry.find("inactive")) {
    for (const JsonPlace& name : names->items()) inactive.insert(name.text());
  }
  ResultRow row{read_genome(description, entry, inactive), Verdict::valid, entry.at("timestamp").text(), 0, 0, {}, 0};
  row.compile_ms = entry.at("compile_time").number();
  if (const auto verdict = entry.find("verdict")) {
    row.verdict = read_failure(*verdict);
    return row;
  }
  row.latency_us = read_us(entry.at("time"));
  row.worst_relative_l2 = entry.number_if_any("relative_l2");
  row.timings = shape_timings(
      description.info, row.latency_us, [&](const std::string& shape) { return read_us(entry.at("time of " + shape)); },
      entry.find("times"));
  return row;
}

std::string kernel_tuner_text(const Results& results) {
  // Kernel Tuner appends to its caches. It expects one entry a line, and the two closing brackets on lines of their
  // own.
  const std::vector<Parameter> parameters = parameters_of(results);
  ordered_json names = ordered_json::array(), values;
  for (const Parameter& parameter : parameters) {
    names.push_back(parameter.name);
    values[parameter.name] = to_json<ordered_json>(parameter.values);
  }
  const ordered_json head = {{"schema_version", "1.1.0"},
                             {"device_name", results.info.device.name},
                             {"kernel_name", results.info.task},
                             {"problem_size", problem_size(results)},
                             {"tune_params_keys", names},
                             {"tune_params", values},
                             {"objective", "time"},
                             {"evo", ordered_json::parse(description_of(results, parameters))}};
  std::string text = "{\n";
  for (const auto& [name, value] : head.items()) text += ordered_json(name).dump() + ": " + value.dump() + ",\n";
  text += "\"cache\": {\n";
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    text += i == 0 ? "" : ",\n";
    text += entry_line(results.rows[i], parameters, results.info.target.timed.size());
  }
  return text + "\n}\n}\n";
}

std::optional<JsonPlace> kernel_tuner_description(const JsonPlace& root) {
  return root.find("evo");
}

std::vector<ResultRow> read_kernel_tuner(const JsonPlace& root, const Description& description) {
  std::vector<ResultRow> rows;
  for (const auto& [key, entry] : root.at("cache").members()) rows.push_back(read_entry(description, entry));
  return rows;
}

}  // namespace

/// A Kernel Tuner cache file (its schema cache/1.1.0). Times are in milliseconds; failures are InvalidConfig,
/// CompilationFailedConfig or RuntimeFailedConfig. Each parameter needs a value there: an inactive gene has its first
/// value, and the entry's member "inactive" names it. The member "evo" is the description.
ResultFormat kernel_tuner_format() {
  return {"kerneltuner", "a Kernel Tuner cache", kernel_tuner_text, kernel_tuner_description, read_kernel_tuner};
}

}  // namespace evo

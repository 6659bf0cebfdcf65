// One subject: results in the T4 format of the auto-tuning community.
#include <nlohmann/json.hpp>

#include "population/results/results_parts.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Value& value) {
  return std::visit([](const auto& held) { return ordered_json(held); }, value);
}

const char* invalidity_of(OutcomeClass outcome) {
  switch (outcome) {
    case OutcomeClass::ok:
      return "correct";
    case OutcomeClass::invalid:
      return "constraints";
    case OutcomeClass::compile:
      return "compile";
    case OutcomeClass::timeout:
      return "timeout";
    case OutcomeClass::correctness:
      return "correctness";
    case OutcomeClass::runtime:
      break;
  }
  return "runtime";
}

ordered_json measurement(const std::string& name, double us) {
  return {{"name", name}, {"value", milliseconds(us)}, {"unit", "ms"}};
}

ordered_json result_of(const ResultRow& row, const std::vector<Parameter>& parameters, std::size_t timed_shapes) {
  ordered_json configuration = ordered_json::object(), measurements = ordered_json::array();
  for (const Parameter& parameter : parameters) {
    if (const std::optional<Value> value = value_of(row.genome, parameter))
      configuration[parameter.name] = json_of(*value);
  }
  const bool ok = outcome_class_of(row.verdict) == OutcomeClass::ok;
  if (ok) {
    measurements.push_back(measurement("time", row.latency_us));
    for (const Timing& timing : row.timings) {
      if (!timing.cold && timed_shapes > 1)
        measurements.push_back(measurement("time of " + timing.shape, timing.median_us));
    }
  }
  return {{"timestamp", row.recorded_at},
          {"configuration", configuration},
          {"objectives", {"time"}},
          {"times",
           {{"compilation_time", milliseconds(row.compile_ms * 1e3)},
            {"benchmark_time", benchmark_ms(row)},
            {"framework", 0},
            {"search_algorithm", 0},
            {"validation", 0},
            {"runtimes", objective_samples_ms(row)}}},
          {"invalidity", invalidity_of(outcome_class_of(row.verdict))},
          {"correctness", ok ? 1 : 0},
          {"measurements", measurements}};
}

}  // namespace

std::string t4_text(const Results& results) {
  const std::vector<Parameter> parameters = parameters_of(results);
  const ordered_json metadata = {{"timeunit", "milliseconds"},
                                 {"evo", ordered_json::parse(description_of(results, parameters))}};
  std::string text = "{\n\"schema_version\": \"1.0.0\",\n\"metadata\": " + metadata.dump() + ",\n\"results\": [\n";
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    text += i == 0 ? "" : ",\n";
    text += result_of(results.rows[i], parameters, results.info.target.timed.size()).dump();
  }
  return text + "\n]\n}\n";
}

}  // namespace evo

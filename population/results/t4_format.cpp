#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/expression/json_value.h"
#include "engine/record/enumerators.h"
#include "population/results/description.h"
#include "population/results/formats.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

std::string_view invalidity_of(OutcomeClass outcome) {
  if (outcome == OutcomeClass::ok) return "correct";
  return outcome == OutcomeClass::invalid ? "constraints" : enumerator_name(outcome);
}

ordered_json measurement(const std::string& name, double us) {
  return {{"name", name}, {"value", milliseconds(us)}, {"unit", "ms"}};
}

ordered_json result_of(const ResultRow& row, const std::vector<Parameter>& parameters, std::size_t timed_shapes) {
  ordered_json configuration = ordered_json::object(), measurements = ordered_json::array();
  for (const Parameter& parameter : parameters) {
    if (const std::optional<Value> value = value_of(row.genome, parameter))
      configuration[parameter.name] = to_json<ordered_json>(*value);
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

// ---- Reading

Verdict verdict_of(const JsonPlace& invalidity) {
  const std::string name = invalidity.text();
  if (name == "correct") return Verdict::valid;
  if (name == "constraints") return Verdict::illegal;
  if (name == "compile") return Verdict::compile_failed;
  if (name == "timeout") return Verdict::timed_out;
  if (name == "correctness") return Verdict::wrong_answer;
  if (name == "runtime") return Verdict::launch_failed;
  invalidity.fail("expected correct, constraints, compile, timeout, correctness or runtime");
}

double measured_us(const JsonPlace& result, const std::string& name) {
  for (const JsonPlace& measurement : result.at("measurements").items()) {
    if (measurement.at("name").text() == name) return read_us(measurement.at("value"));
  }
  result.at("measurements").fail(fmt::format("no measurement '{}'", name));
}

ResultRow read_result(const Description& description, const JsonPlace& result) {
  ResultRow row{read_genome(description, result.at("configuration")),
                verdict_of(result.at("invalidity")),
                result.at("timestamp").text(),
                0,
                0,
                {},
                0};
  row.compile_ms = result.at("times").at("compilation_time").number();
  if (row.verdict != Verdict::valid) return row;
  row.latency_us = measured_us(result, "time");
  row.worst_relative_l2 = std::numeric_limits<double>::quiet_NaN();
  row.timings = shape_timings(
      description.info, row.latency_us,
      [&](const std::string& shape) { return measured_us(result, "time of " + shape); },
      result.at("times").find("runtimes"));
  return row;
}

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

std::optional<JsonPlace> t4_description(const JsonPlace& root) {
  const std::optional<JsonPlace> metadata = root.find("metadata");
  return metadata ? metadata->find("evo") : std::nullopt;
}

std::vector<ResultRow> read_t4(const JsonPlace& root, const Description& description) {
  std::vector<ResultRow> rows;
  for (const JsonPlace& result : root.at("results").items()) rows.push_back(read_result(description, result));
  return rows;
}

}  // namespace

/// T4 results (schema 1.0.0), the format of the auto-tuning community. Times are in milliseconds. Inactive genes are
/// absent from a configuration. The description is metadata.evo. T4 has fewer kinds of failures than evo and no errors:
/// read back, the verdicts are the nearest ones, the errors are NaN.
ResultFormat t4_format() {
  return {"t4", "a T4 file", t4_text, t4_description, read_t4};
}

}  // namespace evo

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/record/enumerators.h"
#include "population/results/formats.h"

namespace evo {
namespace {

std::string_view status_of(OutcomeClass outcome) {
  const bool named =
      outcome == OutcomeClass::ok || outcome == OutcomeClass::invalid || outcome == OutcomeClass::compile;
  return named ? enumerator_name(outcome) : "runtime";
}

/// Quoted if it holds a comma, a quotation mark or a line break (RFC 4180).
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string number_cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

/// Names of shapes may hold commas, and some readers do not take quoted headings.
std::string column_name(std::string shape) {
  std::replace(shape.begin(), shape.end(), ',', '_');
  return fmt::format("time_{}_ms", shape);
}

double deviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  double sum = 0, squares = 0;
  for (const double sample : samples) sum += sample;
  const double mean = sum / static_cast<double>(samples.size());
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size()));
}

std::vector<std::string> cells_of(const Results& results, const ResultRow& row,
                                  const std::vector<Parameter>& parameters) {
  std::vector<std::string> cells;
  for (const Parameter& parameter : parameters) cells.push_back(cell(expr::to_string(shown_value(row, parameter))));
  const OutcomeClass outcome = outcome_class_of(row.verdict);
  const bool ok = outcome == OutcomeClass::ok;
  cells.emplace_back(status_of(outcome));
  cells.push_back(ok ? number_cell(milliseconds(row.latency_us)) : "");
  // The spread itself is not known to six digits.
  cells.push_back(ok ? fmt::format("{:.6g}", deviation(objective_samples_ms(row))) : "");
  cells.push_back(number_cell(milliseconds(row.compile_ms * 1e3)));
  cells.push_back(number_cell(benchmark_ms(row)));
  cells.emplace_back(name_of(row.verdict));
  if (results.info.target.timed.size() < 2) return cells;
  for (const Shape& shape : results.info.target.timed) {
    const auto found = std::find_if(row.timings.begin(), row.timings.end(),
                                    [&](const Timing& timing) { return !timing.cold && timing.shape == shape.name; });
    cells.push_back(ok && found != row.timings.end() ? number_cell(milliseconds(found->median_us)) : "");
  }
  return cells;
}

std::string csv_text(const Results& results) {
  const std::vector<Parameter> parameters = parameters_of(results);
  std::vector<std::string> heading;
  for (const Parameter& parameter : parameters) heading.push_back(cell(parameter.name));
  heading.insert(heading.end(), {"status", "time_ms", "std_ms", "compile_ms", "bench_ms", "verdict"});
  if (results.info.target.timed.size() > 1) {
    for (const Shape& shape : results.info.target.timed) heading.push_back(cell(column_name(shape.name)));
  }
  std::string text = fmt::format("{}\n", fmt::join(heading, ","));
  for (const ResultRow& row : results.rows)
    text += fmt::format("{}\n", fmt::join(cells_of(results, row, parameters), ","));
  return text;
}

}  // namespace

/// Comma-separated values (RFC 4180), one line for each genome: genes..., status (ok, compile, runtime, invalid),
/// time_ms, std_ms, compile_ms, bench_ms, verdict; of several timed shapes also time_NAME_ms for each. An inactive gene
/// has its parameter's first value. The file does not describe itself, so there is no reader.
ResultFormat csv_format() {
  return {"csv", "a CSV file", csv_text, nullptr, nullptr};
}

}  // namespace evo

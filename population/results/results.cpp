#include "population/results/results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/error.h"
#include "population/results/recorded_families.h"

namespace evo {
namespace {

/// A duplicate has the verdict of its original.
Verdict verdict_of(const Evaluation& evaluation) {
  return evaluation.original ? evaluation.original->verdict : evaluation.verdict;
}

ResultRow result_of(CandidateRow row, Verdict verdict) {
  ResultRow result{std::move(row.genome), verdict, std::move(row.recorded_at), 0, 0, {}, 0};
  for (const Build& build : row.evaluation.builds) result.compile_ms += build.compile_ms;
  if (verdict != Verdict::valid) return result;
  result.latency_us = row.evaluation.latency_us;
  result.worst_relative_l2 = row.evaluation.worst_relative_l2;
  result.timings = std::move(row.evaluation.timings);
  return result;
}

RunInfo info_of(const Store& store, RunId id) {
  std::optional<RunRow> run = store.run(id);
  if (!run) throw usage_error(fmt::format("no run {} in {}: evo runs lists them", id, store.path().string()));
  return std::move(run->info);
}

void require_alike(const RunInfo& a, RunId a_id, const RunInfo& b, RunId b_id) {
  if (a.task_hash == b.task_hash && a.objective == b.objective && device_key(a.device) == device_key(b.device)) return;
  throw usage_error(
      fmt::format("runs {} and {} do not rank by the same: their results do not go into one file", a_id, b_id));
}

/// Adds the rows of one run. `seen`: genomes that have a row already.
void add_rows(const Store& store, RunId run, std::set<std::string>& seen, Results& results) {
  for (const OutcomeRow& outcome : store.outcomes(run)) {
    std::optional<CandidateRow> row = store.candidate(outcome.candidate);
    // A candidate with templates of its own is not a point of the task's space.
    if (!row || !row->files.empty()) continue;
    const Verdict verdict = verdict_of(row->evaluation);
    // A failure of evo's own says nothing about the genome. Another run may have a result for it.
    if (verdict == Verdict::harness_failed || !seen.insert(to_json(row->genome)).second) continue;
    results.rows.push_back(result_of(*std::move(row), verdict));
  }
}

/// An imported run may lack sizes of its shapes.
void require_sizes(const Results& results) {
  for (const Shape& shape : results.info.target.timed) {
    for (const std::string& name : results.shape_parameters) {
      if (shape.parameters.contains(name)) continue;
      throw usage_error(fmt::format("shape {} of run {} has no size {}: its results cannot be exported", shape.name,
                                    results.runs.front(), name));
    }
  }
}

/// Adds families and shape parameters: those of the task, or, where its files are not there, what the results show.
void describe(const Store& store, Results& results) {
  const SourceTree files = store.task_files(results.info.task_hash);
  if (files.empty()) {
    for (const Shape& shape : results.info.target.timed)
      for (const auto& [name, value] : shape.parameters)
        if (std::ranges::find(results.shape_parameters, name) == results.shape_parameters.end())
          results.shape_parameters.push_back(name);
    std::vector<OutcomeRow> outcomes;
    for (const RunId run : results.runs) std::ranges::move(store.outcomes(run), std::back_inserter(outcomes));
    for (Recording& recording : recorded_families(outcomes)) results.families.push_back(std::move(recording.family));
    return;
  }
  const Task task = load_task(files, results.info.task);
  results.shape_parameters = task.shape_parameters;
  for (Family& family : load_families(files, task)) {
    const bool occurs = std::any_of(results.rows.begin(), results.rows.end(),
                                    [&](const ResultRow& row) { return row.genome.family == family.name; });
    if (occurs) results.families.push_back(std::move(family));
  }
}

void add_value(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value);
}

}  // namespace

Results results_of(const Store& store, const std::vector<RunId>& runs) {
  Results results;
  results.runs = runs;
  std::sort(results.runs.begin(), results.runs.end());
  if (results.runs.empty()) throw usage_error("no runs: evo runs lists what there is");
  results.info = info_of(store, results.runs.front());
  std::set<std::string> seen;
  for (const RunId run : results.runs) {
    require_alike(results.info, results.runs.front(), info_of(store, run), run);
    add_rows(store, run, seen, results);
  }
  if (results.rows.empty()) {
    throw usage_error(fmt::format("nothing was evaluated in {} {} of {} yet", runs.size() == 1 ? "run" : "runs",
                                  fmt::join(results.runs, ", "), store.path().string()));
  }
  describe(store, results);
  require_sizes(results);
  return results;
}

std::vector<Parameter> parameters_of(const Results& results) {
  std::vector<Parameter> parameters;
  if (results.families.size() > 1) {
    Parameter& family = parameters.emplace_back(Parameter{"family", Gene::Kind::category, {}, {}, "true"});
    for (const Family& each : results.families) family.values.emplace_back(each.name);
  }
  for (const Family& family : results.families) {
    for (const Gene& gene : family.genes) {
      auto found = std::find_if(parameters.begin(), parameters.end(),
                                [&](const Parameter& known) { return known.name == gene.name; });
      if (found != parameters.end() && found->families.empty()) {
        throw usage_error(fmt::format("{}/{} has a gene 'family', which a file of several families needs: rename it",
                                      family.task, family.name));
      }
      if (found == parameters.end()) {
        parameters.push_back({gene.name, gene.kind, {}, {}, gene.when.text()});
        found = parameters.end() - 1;
      }
      found->families.push_back(family.name);
      for (const Value& allele : gene.alleles) add_value(found->values, allele);
    }
  }
  for (Parameter& parameter : parameters) {
    if (std::all_of(parameter.values.begin(), parameter.values.end(), is_number))
      std::sort(parameter.values.begin(), parameter.values.end());
  }
  return parameters;
}

std::optional<Value> value_of(const Genome& genome, const Parameter& parameter) {
  if (parameter.families.empty()) return Value(genome.family);
  const auto found = genome.genes.find(parameter.name);
  return found == genome.genes.end() ? std::nullopt : std::optional<Value>(found->second);
}

double milliseconds(double us) {
  return std::round(us * 1e6) / 1e9;
}

std::vector<double> objective_samples_ms(const ResultRow& row) {
  std::vector<double> samples;
  int warm_shapes = 0;
  for (const Timing& timing : row.timings) {
    if (timing.cold) continue;
    ++warm_shapes;
    for (const double us : timing.samples_us) samples.push_back(milliseconds(us));
  }
  return warm_shapes == 1 ? samples : std::vector<double>();
}

double benchmark_ms(const ResultRow& row) {
  double us = 0;
  for (const Timing& timing : row.timings) {
    for (const double sample : timing.samples_us) us += sample;
  }
  return milliseconds(us);
}

Value shown_value(const ResultRow& row, const Parameter& parameter) {
  return value_of(row.genome, parameter).value_or(parameter.values.front());
}

}  // namespace evo

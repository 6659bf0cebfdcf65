// One subject: results that evo wrote for other tools, coming back. The files are not trusted.
#include "population/results/results_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/expression/json_place.h"

namespace evo {
namespace {

constexpr double kUsPerMs = 1e3;

Bindings read_bindings(const JsonPlace& place) {
  Bindings bindings;
  for (const auto& [name, value] : place.members()) bindings[name] = value.value();
  return bindings;
}

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
  info.target.options = read_bindings(evo.at("options"));
  for (const auto& [name, sizes] : evo.at("shapes").members()) info.target.timed.push_back({name, read_sizes(sizes)});
  if (info.target.timed.empty()) evo.at("shapes").fail("at least one is needed");
  info.target.validated = info.target.timed;
  return info;
}

/// The genes that the file's configurations have, and of which family they are where it does not say so
/// itself.
struct Layout {
  std::vector<std::string> genes;
  std::string family;
};

Layout read_layout(const JsonPlace& evo) {
  Layout layout;
  for (const JsonPlace& gene : evo.at("genes").items()) layout.genes.push_back(gene.at("name").text());
  const std::vector<JsonPlace> families = evo.at("families").items();
  if (families.size() == 1) layout.family = families.front().text();
  return layout;
}

Genome read_genome(const Layout& layout, const JsonPlace& values, const std::set<std::string>& inactive) {
  Genome genome{layout.family, {}};
  for (const std::string& gene : layout.genes) {
    const std::optional<JsonPlace> value = values.find(gene);
    if (!value || inactive.contains(gene)) continue;
    if (layout.family.empty() && gene == "family")
      genome.family = value->text();
    else
      genome.genes[gene] = value->value();
  }
  if (genome.family.empty()) values.fail("no family");
  return genome;
}

double positive(const JsonPlace& place) {
  const double number = place.number();
  if (!(number > 0)) place.fail("expected a number above zero");
  return number;
}

Timing timing_of(const RunInfo& info, const std::string& shape, double us) {
  return {shape, kind_named(info.device.kind).modelled, false, us, us, us, 0, {}};
}

std::vector<double> read_samples(const std::optional<JsonPlace>& list) {
  std::vector<double> samples;
  if (!list) return samples;
  for (const JsonPlace& sample : list->items()) samples.push_back(sample.number() * kUsPerMs);
  return samples;
}

// --- Kernel Tuner

Verdict read_failure(const JsonPlace& place) {
  try {
    const Verdict verdict = parse_verdict(place.text());
    if (verdict != Verdict::valid && verdict != Verdict::duplicate) return verdict;
  } catch (const Error&) {
    // Told below, with its place.
  }
  place.fail(fmt::format("'{}' is no way to fail", place.text()));
}

ResultRow read_entry(const Layout& layout, const RunInfo& info, const JsonPlace& entry) {
  std::set<std::string> inactive;
  if (const auto names = entry.find("inactive")) {
    for (const JsonPlace& name : names->items()) inactive.insert(name.text());
  }
  ResultRow row{read_genome(layout, entry, inactive), Verdict::valid, entry.at("timestamp").text(), 0, 0, {}, 0};
  row.compile_ms = entry.at("compile_time").number();
  if (const auto verdict = entry.find("verdict")) {
    row.verdict = read_failure(*verdict);
    return row;
  }
  row.latency_us = positive(entry.at("time")) * kUsPerMs;
  row.worst_relative_l2 = entry.number_if_any("relative_l2");
  for (const Shape& shape : info.target.timed) {
    const bool one = info.target.timed.size() == 1;
    row.timings.push_back(
        timing_of(info, shape.name, one ? row.latency_us : positive(entry.at("time of " + shape.name)) * kUsPerMs));
  }
  if (row.timings.size() == 1) row.timings.front().samples_us = read_samples(entry.find("times"));
  return row;
}

// --- T4

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
    if (measurement.at("name").text() == name) return positive(measurement.at("value")) * kUsPerMs;
  }
  result.at("measurements").fail(fmt::format("no measurement '{}'", name));
}

ResultRow read_result(const Layout& layout, const RunInfo& info, const JsonPlace& result) {
  ResultRow row{read_genome(layout, result.at("configuration"), {}),
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
  for (const Shape& shape : info.target.timed) {
    const bool one = info.target.timed.size() == 1;
    row.timings.push_back(
        timing_of(info, shape.name, one ? row.latency_us : measured_us(result, "time of " + shape.name)));
  }
  if (row.timings.size() == 1) row.timings.front().samples_us = read_samples(result.at("times").find("runtimes"));
  return row;
}

/// The place of the member "evo", which only evo's own files have.
JsonPlace description_in(const JsonPlace& root, const std::string& file) {
  if (const auto evo = root.find("evo")) return *evo;
  if (const auto metadata = root.find("metadata")) {
    if (const auto evo = metadata->find("evo")) return *evo;
  }
  throw usage_error(fmt::format(
      "{} was not written by evo export --format kerneltuner or t4: it does not say what its results rank by", file));
}

Evaluation evaluation_of(const RunInfo& info, const ResultRow& row) {
  Evaluation evaluation;
  evaluation.verdict = row.verdict;
  evaluation.reason = row.verdict == Verdict::valid ? "" : "recorded elsewhere";
  Build& build = evaluation.builds.emplace_back();
  build.arch = info.device.arch;
  build.compile_ms = row.compile_ms;
  evaluation.timings = row.timings;
  evaluation.latency_us = row.latency_us;
  evaluation.worst_relative_l2 = row.worst_relative_l2;
  return evaluation;
}

}  // namespace

Results read_results(std::string_view text, const std::string& file) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{')
    throw usage_error(fmt::format(
        "{} is not JSON: results are a Kernel Tuner cache or a T4 file, as evo export --format writes them", file));
  const JsonPlace root = JsonPlace::read({{file, std::string(text)}}, file);
  const JsonPlace evo = description_in(root, file);
  const Layout layout = read_layout(evo);
  Results results;
  results.info = read_info(evo);
  std::set<std::string> seen;
  const auto add = [&](ResultRow row) {
    if (seen.insert(to_json(row.genome)).second) results.rows.push_back(std::move(row));
  };
  if (const auto cache = root.find("cache")) {
    for (const auto& [key, entry] : cache->members()) add(read_entry(layout, results.info, entry));
  } else {
    for (const JsonPlace& result : root.at("results").items()) add(read_result(layout, results.info, result));
  }
  if (results.rows.empty()) throw usage_error(fmt::format("{} holds no results", file));
  return results;
}

RunId import_results(Store& store, const Results& results, const std::string& command) {
  RunInfo info = results.info;
  info.strategy = kImported;
  info.evaluation_limit = results.rows.size();
  info.command = command;
  const RunId run = store.begin_run(info);
  const std::unique_ptr<Archive> archive = store.archive(run);
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const ResultRow& row = results.rows[i];
    archive->record({i, row.genome, std::string(kImported), {}}, {row.genome, {}}, evaluation_of(info, row));
  }
  store.finish_run(run, RunStatus::finished);
  return run;
}

}  // namespace evo

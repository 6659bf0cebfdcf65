#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "population/store/store.h"

namespace evo {

/// One candidate as other tools see it.
struct ResultRow {
  Genome genome;
  Verdict verdict = Verdict::valid;  ///< Of a copy: what the original was.
  std::string recorded_at;           ///< UTC, ISO 8601.
  double latency_us = 0;             ///< The objective; valid only.
  double worst_relative_l2 = 0;      ///< Valid only.
  std::vector<Timing> timings;
  double compile_ms = 0;  ///< All programs together.
};

/// What was evaluated for one objective, for files that other tools read.
struct Results {
  RunInfo info;  ///< Of the first run, without files.
  std::vector<RunId> runs;
  std::vector<std::string> shape_parameters;
  std::vector<Family> families;  ///< Those that occur.
  std::vector<ResultRow> rows;   ///< In the order of evaluation, each genome once; our own failures left out.
};

/// The results of runs of one task hash, device model and objective, oldest first. Throws usage_error when
/// there are none or the runs differ in what they rank by.
Results results_of(const Store& store, const std::vector<RunId>& runs);

/// A tuning parameter: a gene of one or more families, or, where there are several, which family it is.
struct Parameter {
  std::string name;
  Gene::Kind kind = Gene::Kind::number;
  std::vector<Value> values;          ///< Of all families: numbers ascending, else in the families' order.
  std::vector<std::string> families;  ///< That have the gene; empty: the parameter is the family.
  std::string when;                   ///< The condition of the gene in the first of them.
};
std::vector<Parameter> parameters_of(const Results& results);

/// Empty where the gene takes no part in the genome.
std::optional<Value> value_of(const Genome& genome, const Parameter& parameter);

/// A Kernel Tuner cache file (its schema cache/1.1.0): milliseconds, failures as InvalidConfig,
/// CompilationFailedConfig or RuntimeFailedConfig. Each parameter needs a value there: an inactive gene has
/// its first, and the entry's member "inactive" names it. "evo" describes task, device, shapes and genes.
std::string kernel_tuner_text(const Results& results);

/// T4 results (schema 1.0.0), times in milliseconds. Inactive genes are absent from a configuration.
std::string t4_text(const Results& results);

/// genes..., status (ok, compile, runtime, invalid), time_ms, std_ms, compile_ms, bench_ms, verdict, and of
/// several timed shapes time_NAME_ms for each. Inactive genes as in kernel_tuner_text.
std::string csv_text(const Results& results);

}  // namespace evo

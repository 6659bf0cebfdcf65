#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "population/store/store.h"

namespace evo {

/// One evaluated genome.
struct ResultRow {
  Genome genome;
  Verdict verdict = Verdict::valid;  ///< A duplicate has the verdict of its original.
  std::string recorded_at;           ///< UTC, ISO 8601.
  double latency_us = 0;             ///< The objective. Only valid rows have one.
  double worst_relative_l2 = 0;      ///< Only valid rows have one.
  std::vector<Timing> timings;
  double compile_ms = 0;  ///< Sum over all programs.
};

/// The evaluated genomes of one objective, for files that other tools read.
struct Results {
  RunInfo info;  ///< The first run, without its files.
  std::vector<RunId> runs;
  std::vector<std::string> shape_parameters;
  std::vector<Family> families;  ///< Those of the rows.
  std::vector<ResultRow> rows;   ///< In the order of evaluation, each genome once, without failures of evo's own.
};

/// The results of runs, oldest first. Throws usage_error when there are none, or when the runs differ in task hash,
/// device model or objective.
Results results_of(const Store& store, const std::vector<RunId>& runs);

/// A tuning parameter: a gene of one or more families. When there are several families, "family" is one too.
struct Parameter {
  std::string name;
  Gene::Kind kind = Gene::Kind::number;
  std::vector<Value> values;          ///< Numbers ascending, others in the families' order.
  std::vector<std::string> families;  ///< Those that have the gene. Empty for the parameter "family".
  std::string when;                   ///< The gene's condition in the first of these families.
};
std::vector<Parameter> parameters_of(const Results& results);

/// Empty when the gene is inactive in the genome.
std::optional<Value> value_of(const Genome& genome, const Parameter& parameter);

/// Microseconds as milliseconds, rounded to a picosecond to keep files small.
double milliseconds(double us);

/// The samples of the objective in milliseconds: those of the only shape, with warm caches. Empty when there are
/// several shapes.
std::vector<double> objective_samples_ms(const ResultRow& row);

/// The sum of all samples in milliseconds, warm and cold. Benchmarking took at least this long.
double benchmark_ms(const ResultRow& row);

/// The value that a file shows. An inactive gene shows the parameter's first value.
Value shown_value(const ResultRow& row, const Parameter& parameter);

}  // namespace evo

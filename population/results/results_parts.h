#pragma once

#include <optional>
#include <string>
#include <vector>

#include "population/results/results.h"

namespace evo {

/// Internal to population/: what the writers of results share.

/// Microseconds as milliseconds, to a picosecond: more digits would only make files larger.
double milliseconds(double us);

/// The samples of one shape with warm caches, in milliseconds; of several shapes, which have no samples of
/// the objective, none.
std::vector<double> objective_samples_ms(const ResultRow& row);

/// The timed calls that were kept, warm and cold, together: the least that benchmarking took.
double benchmark_ms(const ResultRow& row);

/// The value that a file shows: an inactive gene's is the parameter's first.
Value shown_value(const ResultRow& row, const Parameter& parameter);

/// Task, device, shapes and genes as JSON: what a reader needs to understand the configurations.
std::string description_of(const Results& results, const std::vector<Parameter>& parameters);

}  // namespace evo

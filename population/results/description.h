#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/expression/json_place.h"
#include "population/results/results.h"

/// The member "evo" of a results file: task, device, shapes and genes. Other tools ignore it; evo needs it to read the
/// file back.
namespace evo {

/// As JSON.
std::string description_of(const Results& results, const std::vector<Parameter>& parameters);

/// A description that was read.
struct Description {
  RunInfo info;
  std::vector<std::string> genes;  ///< With "family", when there are several families.
  std::string family;              ///< The only one; empty: each configuration names its own.
};

/// Throws usage_error naming the place.
Description read_description(const JsonPlace& evo);

/// The genome of a configuration. Genes that `inactive` names, or that the configuration lacks, are left out.
Genome read_genome(const Description& description, const JsonPlace& configuration,
                   const std::set<std::string>& inactive = {});

// What the readers of all formats share.

/// A time in milliseconds, above zero, as microseconds.
double read_us(const JsonPlace& milliseconds);

/// A warm timing for each timed shape. The only shape has `latency_us` and `samples`, a list of times in milliseconds;
/// of several shapes each has what `shape_us` returns for its name.
std::vector<Timing> shape_timings(const RunInfo& info, double latency_us,
                                  const std::function<double(const std::string& shape)>& shape_us,
                                  const std::optional<JsonPlace>& samples);

}  // namespace evo

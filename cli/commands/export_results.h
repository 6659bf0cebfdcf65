#pragma once

#include <string>

#include "population/store/store.h"

namespace evo::cli {

/// What was asked for, as typed; empty fields do not restrict.
struct ResultsRequest {
  std::string format;  ///< kerneltuner, t4, csv
  std::string run;
  EliteFilter filter;
  std::string output;
};

/// Writes the results of the run that is named, else those of every run that ranks by the same as the newest
/// one that matches; compressed when the file's name ends with .gz. Returns the exit code. Throws usage_error
/// when nothing matches or the format is unknown.
int export_results(const Store& store, const ResultsRequest& request);

}  // namespace evo::cli

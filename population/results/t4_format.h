#pragma once

#include <optional>
#include <string>
#include <vector>

#include "population/results/description.h"

namespace evo {

/// T4 results (schema 1.0.0), the format of the auto-tuning community. Times are in milliseconds. Inactive genes are
/// absent from a configuration. The description is metadata.evo.
std::string t4_text(const Results& results);

/// Empty unless evo wrote the file in this format.
std::optional<JsonPlace> t4_description(const JsonPlace& root);

/// T4 has fewer kinds of failures than evo and no errors: the verdicts are the nearest ones, the errors are NaN. Throws
/// usage_error naming the place.
std::vector<ResultRow> read_t4(const JsonPlace& root, const Description& description);

}  // namespace evo

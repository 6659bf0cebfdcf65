#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/check/sanitised_program.h"

namespace evo::cli {

/// A finding as documents have it (docs/json.md, `sanitize`).
nlohmann::ordered_json finding_json(const PlacedFinding& found);

}  // namespace evo::cli

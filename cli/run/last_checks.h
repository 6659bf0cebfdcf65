#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "cli/run/elite_checks.h"
#include "cli/run/progress.h"
#include "engine/search/search.h"

namespace evo::cli {

/// The end of a search waits for the checks of elites that are still open. It says which is made and how far it is,
/// and bounds the time.
struct LastChecks {
  EliteCheckRunner& checks;
  ProgressReport& progress;
  std::function<std::size_t()> open;  ///< How many elites are provisional.
  /// How long they may take; empty: as long as the search, and at least 10 s; 0: none are made. What is left out stays
  /// provisional.
  std::optional<std::chrono::milliseconds> most = {};
  const char* reason = "the --check-time";  ///< Why they may take that long.

  /// The same archive, whose last wait is bounded. All must outlive the result, whose making begins the search.
  std::unique_ptr<Archive> bounding(Archive& archive) const;
};

}  // namespace evo::cli

#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/space/space.h"
#include "population/store/store.h"

namespace evo::cli {

/// The space of the runs of a page. Making it takes longer than all else: who makes pages of the same runs again and
/// again keeps it.
struct PageSpace {
  RunId run = 0;  ///< The first one of the page.
  std::string family = {};
  std::optional<Space> space = {};
};

/// What a page has beside the runs' results.
struct PageWishes {
  std::size_t predicted = 0;             ///< The most kernels whose latencies the cost model predicts, of GPUs' runs.
  std::size_t explained = 0;             ///< The most kernels whose modelled time is explained, the fastest first.
  std::vector<std::string> rivals = {};  ///< Files as read_rivals takes them; those of the one timed shape are shown.
};

/// Everything that the page of `evo report -o` draws, as one document (docs/json.md, "report" of a page). `runs`: at
/// least one, all of one board; what is said of several is said of all together. `kept`: used and filled, when given.
/// Throws usage_error when the runs are of different boards, or when there is no such run.
nlohmann::ordered_json page_data(const Store& store, const std::vector<RunId>& runs, const PageWishes& wanted = {},
                                 PageSpace* kept = nullptr);

}  // namespace evo::cli

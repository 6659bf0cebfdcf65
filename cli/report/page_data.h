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

/// Everything that the page of `evo report -o` draws, as one document (docs/json.md, "report" of a page). `runs`: at
/// least one, all of one board; what is said of several is said of all together. `predicted`: the most kernels whose
/// latencies the cost model predicts, on GPUs that a virtual one models. `rivals`: files as read_rivals takes them;
/// those of the one timed shape are shown. `kept`: used and filled, when given. Throws usage_error when the runs are of
/// different boards, when there is no such run, or when one was imported without its task's files.
nlohmann::ordered_json page_data(const Store& store, const std::vector<RunId>& runs, std::size_t predicted,
                                 const std::vector<std::string>& rivals = {}, PageSpace* kept = nullptr);

}  // namespace evo::cli

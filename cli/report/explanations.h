#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "cli/report/page_subject.h"
#include "population/store/store.h"

namespace evo::cli {

/// Where the cost model spends the time of the page's fastest kernels, at most `most`: for each timed shape and launch
/// what `evo model --explain` prints, with the source lines that its warps wait at. Each kernel is compiled and
/// modelled anew. Where nothing is explained, `why_none` says why.
nlohmann::ordered_json explanations_json(const Store& store, const PageSubject& subject, std::size_t most);

}  // namespace evo::cli

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/report/page_subject.h"
#include "cli/report/prediction_pairs.h"
#include "population/store/store.h"

namespace evo::cli {

/// How near the best kernels come to the floor, for each timed shape.
nlohmann::ordered_json page_floors_json(const PageSubject& subject);
/// Where the best kernels come from. Lines that sources share are kept once: a source is a list of their numbers.
nlohmann::ordered_json lineage_json(const Store& store, const PageSubject& subject);
/// What language models were asked in the runs, and what they answered. Lines of texts are kept once, as sources' are.
nlohmann::ordered_json exchanges_json(const Store& store, const PageSubject& subject);
nlohmann::ordered_json predictions_json(const Predictions& predictions);
/// Those of the files and of the best candidate's sittings, the fastest first. A latency over several shapes has none.
nlohmann::ordered_json rivals_json(const PageSubject& subject, const std::vector<std::string>& files);

}  // namespace evo::cli

#pragma once

#include <memory>

#include "engine/search/late_predictions.h"
#include "population/store/database.h"
#include "population/store/records.h"

namespace evo {

/// The late predictions of one run. Choices that recorded results depend on are recalled; what was kept of later ones
/// is dropped here.
std::unique_ptr<LatePredictions> make_late_predictions(Database& database, RunId run);

}  // namespace evo

#pragma once

#include <memory>
#include <optional>

#include "engine/search/search.h"
#include "population/store/database.h"
#include "population/store/elites.h"
#include "population/store/records.h"

/// The results of one run: they are recorded, and recalled when the run is resumed. Internal to population/store.
namespace evo {

std::unique_ptr<Archive> make_archive(Database& database, RunId run, EliteComparer compare, EliteChecks checks);

/// The candidate of a proposal of a run.
std::optional<CandidateId> find_candidate(Database& database, RunId run, std::uint64_t ticket);

}  // namespace evo

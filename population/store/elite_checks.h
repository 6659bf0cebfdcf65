#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/result/elite_check.h"
#include "population/store/database.h"
#include "population/store/records.h"

/// The checks of elites, and what becomes of one that they find wrong. Internal to population/store.
namespace evo {

std::vector<EliteCheck> read_checks(Database& database, CandidateId candidate);

/// Elites of a run's board whose checks are not all made, and of its front where the run keeps one; the best first.
std::vector<CandidateId> provisional_elites(Database& database, RunId run);

/// Commits what the checks of a candidate brought. With a finding the candidate gets its verdict, and is no elite from
/// then on: the fastest valid one that is none takes the place. Throws usage_error when there is no such candidate.
/// Returns whether something was found in a valid candidate.
bool settle_checks(Database& database, CandidateId candidate, const CheckedElite& checked);

/// Within a transaction: a candidate is wrong. Its search is still to be told. False: that is known.
bool retract(Database& database, CandidateId candidate, const EliteFinding& finding);

/// The tickets of a run whose retractions its search was told, by the answers that it had had.
std::map<std::uint64_t, std::vector<std::uint64_t>> retractions_of(Database& database, RunId run);
/// The tickets of those that it was not told yet. From now on it was, with so many answers.
std::vector<std::uint64_t> take_untold(Database& database, RunId run, std::uint64_t answered);

/// The latency that the search was told of a candidate that was retracted later.
std::optional<double> told_latency(Database& database, CandidateId candidate);

}  // namespace evo

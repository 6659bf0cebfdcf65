#pragma once

#include <cstdint>
#include <vector>

#include "population/store/database.h"
#include "population/store/records.h"

/// An Evaluation as rows of the table evaluation and of those that belong to it (docs/store.md). Internal to
/// population/store.
namespace evo {

inline constexpr std::uint64_t kMostLaunches = 10'000;  ///< Of one call whose counters are stored.

void insert_evaluation(Database& database, CandidateId candidate, const Evaluation& evaluation);
/// Of a challenger whose evaluation has none yet.
void insert_comparison(Database& database, CandidateId candidate, const EliteComparison& comparison);
Evaluation read_evaluation(Database& database, CandidateId candidate);
std::vector<Timing> read_timings(Database& database, CandidateId candidate);
/// In place of what is known at that shape, measured or modelled.
void replace_profile(Database& database, CandidateId candidate, const Profile& profile);

}  // namespace evo

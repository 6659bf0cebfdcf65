#include "population/store/evaluation_rows.h"

#include <algorithm>

#include "population/store/record_rows.h"

namespace evo {
namespace {

void insert_builds(Database& database, CandidateId candidate, const std::vector<Build>& builds) {
  insert_records(database, "build", candidate, builds);
  auto kernels = RecordInserter::of<KernelBuild>(database, "build_kernel", "candidate, build, kernel");
  std::int64_t position = 0;
  for (const Build& build : builds) {
    for (const auto& [name, kernel] : build.kernels) kernels.insert(kernel, candidate, position, name);
    ++position;
  }
}

std::vector<Build> read_builds(Database& database, CandidateId candidate) {
  auto builds = read_records<Build>(database, "build", candidate);
  Statement row =
      database.prepare("SELECT build, kernel, " + columns_of<KernelBuild>() + " FROM build_kernel WHERE candidate = ?");
  row.bind(candidate);
  while (row.next()) {
    if (row.natural(0) >= builds.size()) throw row.unreadable("a kernel is of a build that is not there");
    builds[row.natural(0)].kernels[row.text(1)] = read_record<KernelBuild>(row, 2);
  }
  return builds;
}

template <class Record>
void insert_single(Database& database, std::string_view table, CandidateId candidate,
                   const std::optional<Record>& record) {
  if (record) RecordInserter::of<Record>(database, table, "candidate").insert(*record, candidate);
}

void insert_profile(Database& database, CandidateId candidate, const Profile& profile) {
  Statement insert = database.prepare("INSERT INTO counter VALUES (?, ?, ?, ?, ?, ?, ?)");
  std::int64_t number = 0;
  for (const LaunchProfile& launch : profile.launches) {
    for (const auto& [metric, value] : launch.values)
      insert.bind(candidate, profile.shape, profile.modelled, number, launch.kernel, metric, value).run();
    ++number;
  }
}

}  // namespace

void replace_profile(Database& database, CandidateId candidate, const Profile& profile) {
  database.prepare("DELETE FROM counter WHERE candidate = ? AND shape = ? AND modelled = ?")
      .bind(candidate, profile.shape, profile.modelled)
      .run();
  insert_profile(database, candidate, profile);
}

std::vector<Profile> read_profiles(Database& database, CandidateId candidate) {
  std::vector<Profile> profiles;
  Statement row = database.prepare(
      "SELECT shape, modelled, launch, kernel, metric, value FROM counter WHERE candidate = ? "
      "ORDER BY shape, modelled, launch");
  row.bind(candidate);
  while (row.next()) {
    const std::string shape = row.text(0);
    const bool modelled = row.integer(1) != 0;
    if (profiles.empty() || profiles.back().shape != shape || profiles.back().modelled != modelled)
      profiles.push_back({shape, modelled, {}});
    std::vector<LaunchProfile>& launches = profiles.back().launches;
    if (row.natural(2) >= kMostLaunches) throw row.unreadable("a counter's launch has an impossible number");
    launches.resize(std::max<std::size_t>(launches.size(), row.natural(2) + 1));
    launches.back().kernel = row.text(3);
    launches.back().values[row.text(4)] = row.number(5);
  }
  return profiles;
}

void insert_evaluation(Database& database, CandidateId candidate, const Evaluation& evaluation) {
  RecordInserter::of<Evaluation>(database, "evaluation", "candidate").insert(evaluation, candidate);
  insert_single(database, "original", candidate, evaluation.original);
  insert_single(database, "mismatch", candidate, evaluation.mismatch);
  if (evaluation.comparison) insert_comparison(database, candidate, *evaluation.comparison);
  insert_builds(database, candidate, evaluation.builds);
  insert_records(database, "residency", candidate, evaluation.residency);
  insert_records(database, "case_error", candidate, evaluation.errors);
  insert_records(database, "timing", candidate, evaluation.timings);
  for (const Profile& profile : evaluation.profiles) insert_profile(database, candidate, profile);
}

void insert_comparison(Database& database, CandidateId candidate, const EliteComparison& comparison) {
  RecordInserter::of<EliteComparison>(database, "elite_comparison", "candidate").insert(comparison, candidate);
}

std::vector<Timing> read_timings(Database& database, CandidateId candidate) {
  return read_records<Timing>(database, "timing", candidate);
}

Evaluation read_evaluation(Database& database, CandidateId candidate) {
  const auto stored = read_single<Evaluation>(database, "evaluation", candidate);
  if (!stored) return {};
  Evaluation evaluation = *stored;
  evaluation.original = read_single<Original>(database, "original", candidate);
  evaluation.mismatch = read_single<Mismatch>(database, "mismatch", candidate);
  evaluation.comparison = read_single<EliteComparison>(database, "elite_comparison", candidate);
  evaluation.builds = read_builds(database, candidate);
  evaluation.residency = read_records<Residency>(database, "residency", candidate);
  evaluation.errors = read_records<CaseError>(database, "case_error", candidate);
  evaluation.timings = read_timings(database, candidate);
  evaluation.profiles = read_profiles(database, candidate);
  return evaluation;
}

}  // namespace evo

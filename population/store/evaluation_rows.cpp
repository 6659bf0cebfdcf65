#include "population/store/evaluation_rows.h"

#include <algorithm>

#include "population/store/rows.h"

namespace evo {
namespace {

void insert_builds(Database& database, CandidateId candidate, const std::vector<Build>& builds) {
  Statement insert = database.prepare("INSERT INTO build VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const Build& build : builds) {
    insert
        .bind(candidate, position++, build.specialisation, build.arch, build.registers, build.spill_bytes,
              build.static_smem_bytes, build.stack_bytes, build.cubin_hash, build.log, build.compile_ms, build.flags)
        .run();
  }
}

std::vector<Build> read_builds(Database& database, CandidateId candidate) {
  constexpr const char* kSelect =
      "SELECT specialisation, arch, registers, spill_bytes, static_smem_bytes, stack_bytes, cubin_hash, log, "
      "compile_ms, flags FROM build WHERE candidate = ? ORDER BY position";
  return read_rows(database, kSelect, candidate, [](const Statement& row) {
    Build build;
    build.specialisation = row.text(0);
    build.arch = row.text(1);
    build.registers = static_cast<int>(row.integer(2));
    build.spill_bytes = static_cast<int>(row.integer(3));
    build.static_smem_bytes = static_cast<int>(row.integer(4));
    build.stack_bytes = static_cast<int>(row.integer(5));
    build.cubin_hash = row.text(6);
    build.log = row.text(7);
    build.compile_ms = row.number(8);
    build.flags = row.text(9);
    return build;
  });
}

void insert_errors(Database& database, CandidateId candidate, const std::vector<CaseError>& errors) {
  Statement insert = database.prepare("INSERT INTO case_error VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const CaseError& error : errors) {
    insert
        .bind(candidate, position++, error.shape, error.seed, error.regime, error.output, error.relative_l2,
              error.max_abs, error.cosine)
        .run();
  }
}

std::vector<CaseError> read_errors(Database& database, CandidateId candidate) {
  constexpr const char* kSelect =
      "SELECT shape, seed, regime, output, relative_l2, max_abs, cosine FROM case_error "
      "WHERE candidate = ? ORDER BY position";
  return read_rows(database, kSelect, candidate, [](const Statement& row) -> CaseError {
    return {row.text(0), row.natural(1), row.text(2), row.text(3), row.number(4), row.number(5), row.number(6)};
  });
}

void insert_timings(Database& database, CandidateId candidate, const std::vector<Timing>& timings) {
  Statement insert = database.prepare("INSERT INTO timing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement insert_sample = database.prepare("INSERT INTO sample VALUES (?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const Timing& timing : timings) {
    insert
        .bind(candidate, position, timing.shape, timing.modelled, timing.cold, timing.median_us, timing.low_us,
              timing.high_us, timing.throttled, timing.conditions.sm_mhz_low, timing.conditions.sm_mhz_high,
              timing.conditions.memory_mhz, timing.conditions.other_processes, timing.conditions.power_limited,
              timing.conditions.temperature_c)
        .run();
    std::int64_t sample_position = 0;
    for (const double sample : timing.samples_us) {
      insert_sample.bind(candidate, position, sample_position++, sample).run();
    }
    ++position;
  }
}

void read_samples(Database& database, CandidateId candidate, std::vector<Timing>& timings) {
  Statement rows = database.prepare("SELECT timing, us FROM sample WHERE candidate = ? ORDER BY timing, position");
  rows.bind(candidate);
  while (rows.next()) timings.at(static_cast<std::size_t>(rows.integer(0))).samples_us.push_back(rows.number(1));
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
    launches.resize(std::max(launches.size(), static_cast<std::size_t>(row.integer(2)) + 1));
    launches.back().kernel = row.text(3);
    launches.back().values[row.text(4)] = row.number(5);
  }
  return profiles;
}

void insert_evaluation(Database& database, CandidateId candidate, const Evaluation& evaluation) {
  database.prepare("INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(candidate, name_of(evaluation.verdict), evaluation.reason, evaluation.latency_us,
            evaluation.worst_relative_l2, evaluation.sass_summary, evaluation.salt, evaluation.phases.waiting_s,
            evaluation.phases.validation_s, evaluation.phases.timing_s, evaluation.ran_on.device,
            evaluation.ran_on.uuid, evaluation.ran_on.host)
      .run();
  insert_builds(database, candidate, evaluation.builds);
  insert_errors(database, candidate, evaluation.errors);
  insert_timings(database, candidate, evaluation.timings);
  for (const Profile& profile : evaluation.profiles) insert_profile(database, candidate, profile);
}

std::vector<Timing> read_timings(Database& database, CandidateId candidate) {
  constexpr const char* kSelect =
      "SELECT shape, modelled, cold, median_us, low_us, high_us, throttled, sm_mhz_low, sm_mhz_high, memory_mhz, "
      "other_processes, power_limited, temperature_c FROM timing WHERE candidate = ? ORDER BY position";
  return read_rows(database, kSelect, candidate, [](const Statement& row) -> Timing {
    return {row.text(0),
            row.integer(1) != 0,
            row.integer(2) != 0,
            row.number(3),
            row.number(4),
            row.number(5),
            static_cast<int>(row.integer(6)),
            {},
            {static_cast<int>(row.integer(7)), static_cast<int>(row.integer(8)), static_cast<int>(row.integer(9)),
             static_cast<int>(row.integer(10)), row.integer(11) != 0, static_cast<int>(row.integer(12))}};
  });
}

Evaluation read_evaluation(Database& database, CandidateId candidate) {
  Evaluation evaluation;
  Statement row = database.prepare(
      "SELECT verdict, reason, latency_us, worst_relative_l2, profile, salt, waiting_s, validation_s, timing_s, "
      "device, uuid, host FROM evaluation WHERE candidate = ?");
  row.bind(candidate);
  if (!row.next()) return evaluation;
  evaluation.verdict = stored_verdict(database, row.text(0));
  evaluation.reason = row.text(1);
  evaluation.latency_us = row.number(2);
  evaluation.worst_relative_l2 = row.number(3);
  evaluation.sass_summary = row.text(4);
  evaluation.salt = row.natural(5);
  evaluation.phases = {row.number(6), row.number(7), row.number(8)};
  evaluation.ran_on = {row.text(9), row.text(10), row.text(11)};
  evaluation.builds = read_builds(database, candidate);
  evaluation.errors = read_errors(database, candidate);
  evaluation.timings = read_timings(database, candidate);
  read_samples(database, candidate, evaluation.timings);
  evaluation.profiles = read_profiles(database, candidate);
  return evaluation;
}

}  // namespace evo

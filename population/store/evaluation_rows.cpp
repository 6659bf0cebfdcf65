// One subject: an Evaluation as rows of build, evaluation, case_error, timing and sample.
#include "population/store/store_impl.h"

namespace evo {
namespace {

void insert_builds(Database& database, CandidateId candidate, const std::vector<Build>& builds) {
  Statement insert = database.prepare("INSERT INTO build VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const Build& build : builds) {
    insert.bind(candidate)
        .bind(position++)
        .bind(build.specialisation)
        .bind(build.arch)
        .bind(build.registers)
        .bind(build.spill_bytes)
        .bind(build.static_smem_bytes)
        .bind(build.stack_bytes)
        .bind(build.cubin_hash)
        .bind(build.log)
        .bind(build.compile_ms)
        .bind(build.flags)
        .run();
  }
}

std::vector<Build> read_builds(Database& database, CandidateId candidate) {
  Statement rows = database.prepare(
      "SELECT specialisation, arch, registers, spill_bytes, static_smem_bytes, stack_bytes, cubin_hash, log, "
      "compile_ms, flags "
      "FROM build WHERE candidate = ? ORDER BY position");
  rows.bind(candidate);
  std::vector<Build> builds;
  while (rows.next()) {
    Build& build = builds.emplace_back();
    build.specialisation = rows.text(0);
    build.arch = rows.text(1);
    build.registers = static_cast<int>(rows.integer(2));
    build.spill_bytes = static_cast<int>(rows.integer(3));
    build.static_smem_bytes = static_cast<int>(rows.integer(4));
    build.stack_bytes = static_cast<int>(rows.integer(5));
    build.cubin_hash = rows.text(6);
    build.log = rows.text(7);
    build.compile_ms = rows.number(8);
    build.flags = rows.text(9);
  }
  return builds;
}

void insert_errors(Database& database, CandidateId candidate, const std::vector<CaseError>& errors) {
  Statement insert = database.prepare("INSERT INTO case_error VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const CaseError& error : errors) {
    insert.bind(candidate)
        .bind(position++)
        .bind(error.shape)
        .bind(error.seed)
        .bind(error.regime)
        .bind(error.output)
        .bind(error.relative_l2)
        .bind(error.max_abs)
        .bind(error.cosine)
        .run();
  }
}

std::vector<CaseError> read_errors(Database& database, CandidateId candidate) {
  Statement rows = database.prepare(
      "SELECT shape, seed, regime, output, relative_l2, max_abs, cosine FROM case_error "
      "WHERE candidate = ? ORDER BY position");
  rows.bind(candidate);
  std::vector<CaseError> errors;
  while (rows.next()) {
    errors.push_back(
        {rows.text(0), rows.natural(1), rows.text(2), rows.text(3), rows.number(4), rows.number(5), rows.number(6)});
  }
  return errors;
}

void insert_timings(Database& database, CandidateId candidate, const std::vector<Timing>& timings) {
  Statement insert = database.prepare("INSERT INTO timing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement insert_sample = database.prepare("INSERT INTO sample VALUES (?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const Timing& timing : timings) {
    insert.bind(candidate)
        .bind(position)
        .bind(timing.shape)
        .bind(timing.modelled)
        .bind(timing.cold)
        .bind(timing.median_us)
        .bind(timing.low_us)
        .bind(timing.high_us)
        .bind(timing.throttled)
        .bind(timing.conditions.sm_mhz_low)
        .bind(timing.conditions.sm_mhz_high)
        .bind(timing.conditions.memory_mhz)
        .bind(timing.conditions.other_processes)
        .bind(timing.conditions.power_limited)
        .run();
    std::int64_t sample_position = 0;
    for (const double sample : timing.samples_us) {
      insert_sample.bind(candidate).bind(position).bind(sample_position++).bind(sample).run();
    }
    ++position;
  }
}

void read_samples(Database& database, CandidateId candidate, std::vector<Timing>& timings) {
  Statement rows = database.prepare("SELECT timing, us FROM sample WHERE candidate = ? ORDER BY timing, position");
  rows.bind(candidate);
  while (rows.next()) timings.at(static_cast<std::size_t>(rows.integer(0))).samples_us.push_back(rows.number(1));
}

}  // namespace

void insert_evaluation(Database& database, CandidateId candidate, const Evaluation& evaluation) {
  database.prepare("INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(candidate)
      .bind(name_of(evaluation.verdict))
      .bind(evaluation.reason)
      .bind(evaluation.latency_us)
      .bind(evaluation.worst_relative_l2)
      .bind(evaluation.sass_summary)
      .bind(evaluation.salt)
      .run();
  insert_builds(database, candidate, evaluation.builds);
  insert_errors(database, candidate, evaluation.errors);
  insert_timings(database, candidate, evaluation.timings);
}

std::vector<Timing> read_timings(Database& database, CandidateId candidate) {
  Statement rows = database.prepare(
      "SELECT shape, modelled, cold, median_us, low_us, high_us, throttled, sm_mhz_low, sm_mhz_high, memory_mhz, "
      "other_processes, power_limited FROM timing "
      "WHERE candidate = ? ORDER BY position");
  rows.bind(candidate);
  std::vector<Timing> timings;
  while (rows.next()) {
    timings.push_back({rows.text(0),
                       rows.integer(1) != 0,
                       rows.integer(2) != 0,
                       rows.number(3),
                       rows.number(4),
                       rows.number(5),
                       static_cast<int>(rows.integer(6)),
                       {},
                       {static_cast<int>(rows.integer(7)), static_cast<int>(rows.integer(8)),
                        static_cast<int>(rows.integer(9)), static_cast<int>(rows.integer(10)), rows.integer(11) != 0}});
  }
  return timings;
}

Evaluation read_evaluation(Database& database, CandidateId candidate) {
  Evaluation evaluation;
  Statement row = database.prepare(
      "SELECT verdict, reason, latency_us, worst_relative_l2, profile, salt FROM evaluation WHERE candidate "
      "= ?");
  row.bind(candidate);
  if (!row.next()) return evaluation;
  evaluation.verdict = stored_verdict(database, row.text(0));
  evaluation.reason = row.text(1);
  evaluation.latency_us = row.number(2);
  evaluation.worst_relative_l2 = row.number(3);
  evaluation.sass_summary = row.text(4);
  evaluation.salt = row.natural(5);
  evaluation.builds = read_builds(database, candidate);
  evaluation.errors = read_errors(database, candidate);
  evaluation.timings = read_timings(database, candidate);
  read_samples(database, candidate, evaluation.timings);
  return evaluation;
}

}  // namespace evo

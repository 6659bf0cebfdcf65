// Store: reads runs and candidates, and adds counters to them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "population/store/archive.h"
#include "population/store/codec.h"
#include "population/store/database.h"
#include "population/store/evaluation_rows.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {
namespace {

const std::string& runs_query() {
  static const std::string kRuns =
      "SELECT run.id, status, started_at, finished_at,"
      " (SELECT count(*) FROM candidate WHERE candidate.run = run.id),"
      " (SELECT count(*) FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id"
      "  WHERE candidate.run = run.id AND verdict = 'valid'),"
      " (SELECT min(latency_us) FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id"
      "  WHERE candidate.run = run.id AND verdict = 'valid'),"
      " task.name, task.hash, board.objective, run.target, run.seeds, device.label, device.kind, device.name,"
      " device.arch, device.uuid, device.driver, device.facts, " +
      columns_of<RunInfo>("run.") +
      " FROM run JOIN board ON board.id = run.board JOIN task ON task.id = board.task"
      " JOIN device ON device.id = run.device WHERE ?1 IS NULL OR run.id = ?1 ORDER BY run.id DESC";
  return kRuns;
}

std::vector<DeviceRecord> further_devices_of(Database& database, RunId run) {
  constexpr const char* kSelect =
      "SELECT label, kind, name, arch, uuid, driver, facts FROM run_device JOIN device ON device.id = "
      "run_device.device "
      "WHERE run = ? ORDER BY position";
  return read_rows(database, kSelect, run, [&](const Statement& row) { return read_device(database, row, 0); });
}

RunRow run_of(Database& database, const Statement& row) {
  RunRow run;
  run.info = read_record<RunInfo>(row, 19);
  run.id = row.integer(0);
  run.status = value_of<RunStatus>(row, 1);
  run.started_at = row.text(2);
  run.finished_at = row.text(3);
  run.evaluated = row.natural(4);
  run.valid = row.natural(5);
  run.best_us = row.optional_number(6);
  run.info.task = row.text(7);
  run.info.task_hash = row.text(8);
  run.info.objective = row.text(9);
  run.info.target = stored_target(database, row.text(10));
  run.info.seeds = stored_seeds(database, row.text(11));
  run.info.device = read_device(database, row, 12);
  run.info.further_devices = further_devices_of(database, run.id);
  return run;
}

std::vector<RunRow> read_runs(Database& database, std::optional<RunId> only) {
  Statement rows = database.prepare(runs_query());
  rows.bind(only);
  std::vector<RunRow> runs;
  while (rows.next()) runs.push_back(run_of(database, rows));
  return runs;
}

std::vector<CandidateId> parents_of(Database& database, CandidateId candidate) {
  return read_rows(database, "SELECT parent FROM parent WHERE candidate = ? ORDER BY position", candidate,
                   [](const Statement& row) { return row.integer(0); });
}

std::vector<StoredProgram> programs_of(Database& database, CandidateId candidate) {
  constexpr const char* kSelect =
      "SELECT specialisation, content, source_hash, max_registers FROM program JOIN text ON text.id = program.source "
      "WHERE candidate = ? ORDER BY position";
  return read_rows(database, kSelect, candidate, [&](const Statement& row) -> StoredProgram {
    return {stored_bindings(database, row.text(0)), row.text(1), row.text(2), static_cast<int>(row.integer(3))};
  });
}

SourceTree files_of(Database& database, CandidateId candidate) {
  Statement rows = database.prepare(
      "SELECT path, content FROM candidate_file JOIN text ON text.id = candidate_file.text WHERE candidate = ?");
  rows.bind(candidate);
  SourceTree files;
  while (rows.next()) files.emplace(rows.text(0), rows.text(1));
  return files;
}

std::optional<int> rank_of(Database& database, CandidateId candidate) {
  Statement row = database.prepare("SELECT rank FROM elites WHERE candidate = ?");
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  return static_cast<int>(row.integer(0));
}

/// One row of a lineage, still without its distance.
std::optional<LineageRow> read_ancestor(Database& database, CandidateId candidate) {
  Statement row = database.prepare(
      "SELECT op, genome, verdict, latency_us FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id "
      "WHERE candidate.id = ?");
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  LineageRow ancestor{candidate,
                      0,
                      row.text(0),
                      parents_of(database, candidate),
                      stored_genome(database, row.text(1)),
                      value_of<Verdict>(row, 2),
                      {}};
  if (ancestor.verdict == Verdict::valid) ancestor.latency_us = row.optional_number(3);
  return ancestor;
}

}  // namespace

std::vector<RunRow> Store::runs() const {
  return read_runs(*database_, std::nullopt);
}

std::optional<RunRow> Store::run(RunId run) const {
  std::vector<RunRow> runs = read_runs(*database_, run);
  if (runs.empty()) return std::nullopt;
  return std::move(runs.front());
}

std::vector<OutcomeRow> Store::outcomes(RunId run) const {
  static const std::string kSelect =
      "SELECT candidate.id, ticket, op, verdict, latency_us, "
      "       (julianday(recorded_at) - julianday(started_at)) * 86400.0, reason, genome, note, "
      "       (SELECT total(compile_ms) FROM build WHERE build.candidate = candidate.id), "
      "       waiting_s, validation_s, timing_s, worst_relative_l2, "
      "       (SELECT parent FROM parent WHERE parent.candidate = candidate.id AND position = 0), "
      "       mismatch.candidate, " +
      columns_of<Mismatch>("mismatch.") +
      " FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id JOIN run ON run.id = candidate.run "
      "LEFT JOIN mismatch ON mismatch.candidate = candidate.id WHERE candidate.run = ? ORDER BY ticket";
  return read_rows(*database_, kSelect, run, [&](const Statement& row) {
    OutcomeRow outcome;
    outcome.candidate = row.integer(0);
    outcome.ticket = row.natural(1);
    outcome.op = row.text(2);
    outcome.verdict = value_of<Verdict>(row, 3);
    if (outcome.verdict == Verdict::valid) outcome.latency_us = row.optional_number(4);
    outcome.seconds = row.number(5);
    outcome.reason = row.text(6);
    outcome.genome = stored_genome(*database_, row.text(7));
    outcome.note = row.text(8);
    outcome.compile_ms = row.number(9);
    outcome.phases = {row.number(10), row.number(11), row.number(12)};
    outcome.worst_relative_l2 = row.optional_number(13);
    if (!row.is_null(14)) outcome.first_parent = row.integer(14);
    if (!row.is_null(15)) outcome.mismatch = read_record<Mismatch>(row, 16);
    return outcome;
  });
}

std::vector<PlaceCount> Store::places(RunId run) const {
  // A duplicate has the place of its original.
  constexpr const char* kSelect =
      "SELECT device, uuid, host, count(*), total(verdict = 'harness_failed') "
      "FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id "
      "WHERE run = ? AND device <> '' AND verdict <> 'duplicate' GROUP BY host, device, uuid ORDER BY host, device";
  return read_rows(*database_, kSelect, run, [](const Statement& row) -> PlaceCount {
    return {{row.text(0), row.text(1), row.text(2)}, row.natural(3), static_cast<std::uint64_t>(row.number(4))};
  });
}

std::optional<CandidateRow> Store::candidate(CandidateId candidate) const {
  Database& database = *database_;
  const ReadTransaction transaction(database);
  Statement row =
      database.prepare("SELECT run, ticket, recorded_at, op, genome, source_hash, note FROM candidate WHERE id = ?");
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  CandidateRow result;
  result.id = candidate;
  result.run = row.integer(0);
  result.ticket = row.natural(1);
  result.recorded_at = row.text(2);
  result.op = row.text(3);
  result.parents = parents_of(database, candidate);
  result.genome = stored_genome(database, row.text(4));
  result.source_hash = row.text(5);
  result.note = row.text(6);
  result.programs = programs_of(database, candidate);
  result.files = files_of(database, candidate);
  result.evaluation = read_evaluation(database, candidate);
  result.elite_rank = rank_of(database, candidate);
  result.sittings = read_sittings(database, candidate);
  return result;
}

void Store::record_profile(CandidateId candidate, const Profile& profile) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  Statement known = database.prepare("SELECT 1 FROM candidate WHERE id = ?");
  known.bind(candidate);
  if (!known.next()) throw usage_error(fmt::format("{} has no candidate {}", database.path().string(), candidate));
  replace_profile(database, candidate, profile);
  transaction.commit();
}

std::optional<CandidateId> Store::candidate_of(RunId run, std::uint64_t ticket) const {
  return find_candidate(*database_, run, ticket);
}

std::vector<LineageRow> Store::lineage(CandidateId candidate) const {
  Database& database = *database_;
  const ReadTransaction transaction(database);
  std::vector<LineageRow> rows;
  std::set<CandidateId> seen{candidate};
  std::vector<CandidateId> generation{candidate};
  for (int distance = 0; !generation.empty(); ++distance) {
    std::vector<CandidateId> next;
    for (const CandidateId id : generation) {
      std::optional<LineageRow> row = read_ancestor(database, id);
      if (!row) {
        throw usage_error(fmt::format("database {} has no candidate {}: `evo elites` lists the best ones",
                                      database.path().string(), id));
      }
      row->distance = distance;
      std::copy_if(row->parents.begin(), row->parents.end(), std::back_inserter(next),
                   [&](CandidateId parent) { return seen.insert(parent).second; });
      rows.push_back(std::move(*row));
    }
    generation = std::move(next);
  }
  return rows;
}

SourceTree Store::task_files(std::string_view task_hash) const {
  Statement rows = database_->prepare(
      "SELECT path, content FROM task_file JOIN task ON task.id = task_file.task "
      "JOIN text ON text.id = task_file.text WHERE task.hash = ?");
  rows.bind(task_hash);
  SourceTree files;
  while (rows.next()) files.emplace(rows.text(0), rows.text(1));
  return files;
}

}  // namespace evo

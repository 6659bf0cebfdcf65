// Store: reads runs and candidates, and adds counters to them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "population/store/archive.h"
#include "population/store/database.h"
#include "population/store/elite_checks.h"
#include "population/store/evaluation_rows.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {
namespace {

const std::string& runs_query() {
  static const std::string kRuns =
      "SELECT task.name, task.hash, board.objective, " + columns_of<DeviceRecord>("device.") + ", " +
      columns_of<RunRow>("run.") +
      " FROM (SELECT run.*,"
      "  (SELECT count(*) FROM candidate WHERE candidate.run = run.id) AS evaluated,"
      "  (SELECT count(*) FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id"
      "   WHERE candidate.run = run.id AND verdict = 'valid') AS valid,"
      "  (SELECT min(latency_us) FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id"
      "   WHERE candidate.run = run.id AND verdict = 'valid') AS best_us FROM run) AS run"
      " JOIN board ON board.id = run.board JOIN task ON task.id = board.task"
      " JOIN device ON device.number = run.device WHERE ?1 IS NULL OR run.id = ?1 ORDER BY run.id DESC";
  return kRuns;
}

std::vector<DeviceRecord> further_devices_of(Database& database, RunId run) {
  static const std::string kSelect =
      "SELECT " + columns_of<DeviceRecord>("device.") +
      " FROM run_device JOIN device ON device.number = run_device.device WHERE run = ? ORDER BY position";
  return read_rows(database, kSelect, run, [](const Statement& row) { return read_record<DeviceRecord>(row); });
}

RunRow run_of(Database& database, const Statement& row) {
  RunRow run;
  RunInfo& info = run.info;
  read_row(row, info.task, info.task_hash, info.objective, info.device, run);
  info.further_devices = further_devices_of(database, run.id);
  // Its process was killed.
  if (run.status == RunStatus::running && !database.leases().is_held(run.id)) run.status = RunStatus::interrupted;
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
      "SELECT specialisation, content, hash, source_hash, max_registers FROM program JOIN text ON text.id = "
      "program.source "
      "WHERE candidate = ? ORDER BY position";
  return read_rows(database, kSelect, candidate, [](const Statement& row) {
    StoredProgram program;
    program.source = intact_text(row, 1);
    std::string unused;
    read_row(row, program.specialisation, unused, unused, program.source_hash, program.max_registers);
    if (hash_of_source(program.source, program.max_registers) != program.source_hash)
      throw row.unreadable("a program's source is not the one that was evaluated");
    return program;
  });
}

SourceTree files_of(Database& database, CandidateId candidate) {
  Statement rows = database.prepare(
      "SELECT path, content, hash FROM candidate_file JOIN text ON text.id = candidate_file.text WHERE candidate = ?");
  rows.bind(candidate);
  SourceTree files;
  while (rows.next()) files.emplace(inner_path(rows, 0), intact_text(rows, 1));
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
      "SELECT op, genome, verdict, iif(verdict = 'valid', latency_us, NULL) FROM candidate "
      "JOIN evaluation ON evaluation.candidate = candidate.id WHERE candidate.id = ?");
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  LineageRow ancestor;
  ancestor.candidate = candidate;
  ancestor.parents = parents_of(database, candidate);
  read_row(row, ancestor.op, ancestor.genome, ancestor.verdict, ancestor.latency_us);
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
      "SELECT candidate.id, candidate.ticket, op, genome, evaluation.verdict, reason, "
      "       iif(evaluation.verdict = 'valid', latency_us, NULL), worst_relative_l2, "
      "       (SELECT parent FROM parent WHERE parent.candidate = candidate.id AND position = 0), "
      "       (julianday(recorded_at) - julianday(started_at)) * 86400.0, note, "
      "       (SELECT total(compile_ms) FROM build WHERE build.candidate = candidate.id), " +
      columns_of<PhaseTimes>() + ", " + columns_of<Mismatch>("mismatch.") + ", " + columns_of<Original>("original.") +
      " FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id JOIN run ON run.id = candidate.run "
      "LEFT JOIN mismatch ON mismatch.candidate = candidate.id LEFT JOIN original ON original.candidate = candidate.id "
      "WHERE candidate.run = ? ORDER BY candidate.ticket";
  return read_rows(*database_, kSelect, run, [](const Statement& row) {
    OutcomeRow one;
    read_row(row, one.candidate, one.ticket, one.op, one.genome, one.verdict, one.reason, one.latency_us,
             one.worst_relative_l2, one.first_parent, one.seconds, one.note, one.compile_ms, one.phases, one.mismatch,
             one.original);
    return one;
  });
}

std::vector<PlaceCount> Store::places(RunId run) const {
  // A duplicate has the place of its original.
  static const std::string kSelect =
      "SELECT " + columns_of<RanOn>() +
      ", count(*), total(verdict = 'harness_failed') FROM candidate JOIN evaluation ON evaluation.candidate = "
      "candidate.id "
      "WHERE run = ? AND device <> '' AND verdict <> 'duplicate' GROUP BY host, device, uuid ORDER BY host, device";
  return read_rows(*database_, kSelect, run, [](const Statement& row) {
    PlaceCount count;
    read_row(row, count.place, count.evaluated, count.machine_failed);
    return count;
  });
}

bool Store::was_retracted(CandidateId candidate) const {
  return told_latency(*database_, candidate).has_value();
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
  read_row(row, result.run, result.ticket, result.recorded_at, result.op, result.genome, result.source_hash,
           result.note);
  result.parents = parents_of(database, candidate);
  result.programs = programs_of(database, candidate);
  result.files = files_of(database, candidate);
  result.evaluation = read_evaluation(database, candidate);
  result.elite_rank = rank_of(database, candidate);
  result.checks = read_checks(database, candidate);
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
      "SELECT path, content, text.hash FROM task_file JOIN task ON task.id = task_file.task "
      "JOIN text ON text.id = task_file.text WHERE task.hash = ?");
  rows.bind(task_hash);
  SourceTree files;
  while (rows.next()) files.emplace(inner_path(rows, 0), intact_text(rows, 1));
  return files;
}

}  // namespace evo

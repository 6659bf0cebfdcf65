// Store: reads the elites, and checks the database.
#include <fmt/format.h>

#include "population/store/database.h"
#include "population/store/elite_checks.h"
#include "population/store/elites.h"
#include "population/store/evaluation_rows.h"
#include "population/store/record_rows.h"
#include "population/store/row_checks.h"
#include "population/store/rows.h"
#include "population/store/schema.h"
#include "population/store/store.h"

namespace evo {
namespace {

/// Of `view`: the elites, or the front. ?1 task, ?2 device, ?3 objective, ?4 task hash; empty does not restrict.
std::string ranked_query(std::string_view view) {
  return "SELECT ranked.rank, ranked.candidate, candidate.run, task.name, task.hash, "
         "       task.id = (SELECT newest.task FROM run JOIN board AS newest ON newest.id = run.board "
         "                  JOIN task AS named ON named.id = newest.task "
         "                  WHERE named.name = task.name AND run.strategy <> 'import' ORDER BY run.id DESC LIMIT 1), " +
         columns_of<DeviceRecord>("device.") +
         ",      board.objective, candidate.genome, ranked.latency_us, ranked.relative_error, "
         "       (SELECT max(registers) FROM build_kernel WHERE build_kernel.candidate = candidate.id AND launched), "
         "       (SELECT max(spill_bytes) FROM build_kernel WHERE build_kernel.candidate = candidate.id AND launched), "
         "       candidate.source_hash, ranked.since "
         "FROM " +
         std::string(view) +
         " AS ranked JOIN board ON board.id = ranked.board JOIN task ON task.id = board.task "
         "JOIN candidate ON candidate.id = ranked.candidate JOIN run ON run.id = candidate.run "
         "JOIN device ON device.number = run.device "
         "WHERE (?1 = '' OR task.name = ?1) AND (?3 = '' OR instr(board.objective || ' ', ?3 || ' ') = 1) "
         "  AND (?4 = '' OR task.hash = ?4) "
         "  AND (?2 = '' OR device.id = ?2 OR device.kind = ?2 OR instr(lower(device.name), lower(?2)) > 0) "
         "ORDER BY task.name, board.device_key, board.objective, task.id DESC, ranked.rank";
}

/// Genomes on its board that make an elite's kernel: those that were found to be duplicates when they were built, and
/// those that are_duplicates (elites.h) takes for it.
std::uint64_t genomes_of(Database& database, const EliteRow& elite) {
  Statement row = database.prepare(fmt::format(
      "SELECT count(DISTINCT other.genome) FROM candidate AS elite JOIN run AS its ON its.id = elite.run "
      "JOIN evaluation AS its_result ON its_result.candidate = elite.id "
      "JOIN run ON run.board = its.board JOIN candidate AS other ON other.run = run.id "
      "JOIN evaluation AS result ON result.candidate = other.id "
      "LEFT JOIN original ON original.candidate = other.id "
      "WHERE elite.id = ?1 AND result.verdict IN ('valid', 'duplicate') AND (other.source_hash = elite.source_hash "
      "OR (run.id = its.id AND original.ticket = elite.ticket) "
      "OR (?2 AND other.family = elite.family AND ?4 = coalesce((SELECT max(registers) FROM build_kernel "
      "WHERE build_kernel.candidate = other.id AND launched), 0) AND result.latency_us BETWEEN ?3 * (1 - {0}) AND ?3 * "
      "(1 + {0}) "
      "AND abs(result.worst_relative_l2 - its_result.worst_relative_l2) <= "
      "{1} * max(result.worst_relative_l2, its_result.worst_relative_l2)))",
      kModelledTie, kSameError));
  row.bind(elite.candidate, elite.modelled, elite.latency_us, elite.registers).next();
  return row.natural(0);
}

EliteRow elite_of(Database& database, const Statement& row) {
  EliteRow elite;
  read_row(row, elite.rank, elite.candidate, elite.run, elite.task, elite.task_hash, elite.current, elite.device,
           elite.objective, elite.genome, elite.latency_us, elite.worst_relative_l2, elite.registers, elite.spill_bytes,
           elite.source_hash, elite.since);
  elite.timings = read_timings(database, elite.candidate);
  elite.checks = read_checks(database, elite.candidate);
  for (const Timing& timing : elite.timings) elite.modelled = elite.modelled || timing.modelled;
  elite.genomes = genomes_of(database, elite);
  return elite;
}

/// A rule that the database must keep, as a query for the rows that break it: their ids in column 0.
struct Rule {
  const char* broken;
  const char* sql;
};

constexpr Rule kRules[] = {
    {"board {} has more than three elites", "SELECT board FROM elite GROUP BY board HAVING count(*) > 3"},
    {"elite {} is not a valid candidate of its board",
     "SELECT elite.candidate FROM elite JOIN candidate ON candidate.id = elite.candidate "
     "JOIN run ON run.id = candidate.run JOIN evaluation ON evaluation.candidate = candidate.id "
     "WHERE verdict <> 'valid' OR run.board <> elite.board OR evaluation.latency_us IS NOT elite.latency_us"},
    {"elite {} is missing from the history or was displaced",
     "SELECT candidate FROM elite WHERE 1 <> (SELECT total(entered = candidate) - total(displaced = candidate) "
     "FROM elite_history)"},
    {"candidate {} became an elite and was never displaced, but is none",
     "SELECT entered FROM elite_history AS one WHERE entered NOT IN (SELECT candidate FROM elite) GROUP BY entered "
     "HAVING count(*) > (SELECT count(*) FROM elite_history AS two WHERE two.displaced = one.entered)"},
    {"candidate {} was displaced before it was an elite of that board",
     "SELECT later.displaced FROM elite_history AS later WHERE later.displaced IS NOT NULL AND NOT EXISTS "
     "(SELECT 1 FROM elite_history AS earlier WHERE earlier.entered = later.displaced AND earlier.id < later.id "
     "AND earlier.board = later.board)"},
    {"candidate {} has no evaluation", "SELECT id FROM candidate WHERE id NOT IN (SELECT candidate FROM evaluation)"},
    {"run {} has candidates with sources, but its task has no files: merge again the database that it came from",
     "SELECT run.id FROM run JOIN board ON board.id = run.board "
     "WHERE board.task NOT IN (SELECT task FROM task_file) AND EXISTS (SELECT 1 FROM candidate "
     "JOIN program ON program.candidate = candidate.id WHERE candidate.run = run.id)"},
};

std::vector<EliteRow> ranked_rows(Database& database, std::string_view view, const EliteFilter& filter) {
  const ReadTransaction transaction(database);
  Statement rows = database.prepare(ranked_query(view));
  rows.bind(filter.task, filter.device, filter.objective, filter.task_hash);
  std::vector<EliteRow> elites;
  while (rows.next()) elites.push_back(elite_of(database, rows));
  return elites;
}

}  // namespace

std::vector<EliteRow> Store::elites(const EliteFilter& filter) const {
  return ranked_rows(*database_, "elites", filter);
}

std::vector<EliteRow> Store::front(const EliteFilter& filter) const {
  return ranked_rows(*database_, "front", filter);
}

std::vector<std::string> Store::check() const {
  Database& database = *database_;
  const ReadTransaction transaction(database);
  std::vector<std::string> problems;
  if (const std::optional<std::string> what = schema_difference(database)) return {*what};
  Statement integrity = database.prepare("PRAGMA integrity_check");
  while (integrity.next()) {
    if (integrity.text(0) != "ok") problems.push_back(integrity.text(0));
  }
  Statement foreign = database.prepare("PRAGMA foreign_key_check");
  while (foreign.next()) {
    problems.push_back(
        fmt::format("a row of table {} refers to a missing row of {}", foreign.text(0), foreign.text(2)));
  }
  for (const BadRow& row : bad_rows(database)) problems.push_back(row.text());
  for (const Rule& rule : kRules) {
    Statement rows = database.prepare(fmt::format("{} ORDER BY 1", rule.sql));
    while (rows.next()) problems.push_back(fmt::format(fmt::runtime(rule.broken), rows.integer(0)));
  }
  return problems;
}

}  // namespace evo

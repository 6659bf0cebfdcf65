#include "population/store/elite_checks.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "population/store/board.h"
#include "population/store/elites.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"

namespace evo {
namespace {

struct OnBoard {
  std::int64_t board = 0;
  bool valid = false;
  double latency_us = 0;
};

OnBoard standing_of(Database& database, CandidateId candidate) {
  Statement row = database.prepare(
      "SELECT board, verdict = 'valid', latency_us FROM candidate JOIN run ON run.id = candidate.run "
      "JOIN evaluation ON evaluation.candidate = candidate.id WHERE candidate.id = ?");
  row.bind(candidate);
  if (!row.next()) throw usage_error(database.path().string() + " has no candidate " + std::to_string(candidate));
  return {row.integer(0), row.integer(1) != 0, row.number(2)};
}

/// Gives free places to the fastest valid candidates of the board that have sources and are no elites.
void fill_places(Database& database, std::int64_t board) {
  Statement rows = database.prepare(
      "SELECT candidate.id FROM run JOIN candidate ON candidate.run = run.id "
      "JOIN evaluation ON evaluation.candidate = candidate.id WHERE board = ?1 AND verdict = 'valid' "
      "AND candidate.id NOT IN (SELECT candidate FROM elite WHERE board = ?1) "
      "AND EXISTS (SELECT 1 FROM program WHERE program.candidate = candidate.id) "
      "ORDER BY latency_us, candidate.id");
  rows.bind(board);
  std::vector<CandidateId> successors;
  while (rows.next()) successors.push_back(rows.integer(0));
  for (const CandidateId one : successors) {
    if (elites_of(database, board).size() == kEliteCount) return;
    enter_free_place(database, board, contender_of(database, one));
  }
}

void leave(Database& database, CandidateId candidate, const OnBoard& standing) {
  if (database.prepare("DELETE FROM elite WHERE candidate = ?").bind(candidate).run() == 0) return;
  database.prepare("INSERT INTO elite_history (board, displaced, displaced_us, at) VALUES (?, ?, ?, ?)")
      .bind(standing.board, candidate, standing.latency_us, now_of(database))
      .run();
  fill_places(database, standing.board);
}

/// What the view `front` has of a board, which costs the more the more boards keep a front.
std::vector<std::pair<double, CandidateId>> front_of(Database& database, std::int64_t board) {
  Statement point = database.prepare(
      "SELECT latency_us, candidate.id, worst_relative_l2 FROM run JOIN candidate ON candidate.run = run.id "
      "JOIN evaluation ON evaluation.candidate = candidate.id WHERE board = ? AND verdict = 'valid' "
      "AND EXISTS (SELECT 1 FROM program WHERE program.candidate = candidate.id) "
      "ORDER BY latency_us, worst_relative_l2, candidate.id");
  point.bind(board);
  std::vector<std::pair<double, CandidateId>> front;
  double error = 0;
  while (point.next()) {
    if (!front.empty() && !(point.number(2) * 1.05 < error)) continue;  // NULL is NaN and less than nothing.
    front.emplace_back(point.number(0), point.integer(1));
    error = point.number(2);
  }
  return front;
}

}  // namespace

bool retract(Database& database, CandidateId candidate, const EliteFinding& finding) {
  const OnBoard standing = standing_of(database, candidate);
  if (!standing.valid) return false;
  database.prepare("INSERT INTO retraction VALUES (?, NULL, ?)").bind(candidate, standing.latency_us).run();
  database.prepare("UPDATE evaluation SET verdict = ?, reason = ?, latency_us = 0 WHERE candidate = ?")
      .bind(name_of(finding.verdict), finding.reason, candidate)
      .run();
  if (finding.mismatch)
    RecordInserter::of<Mismatch>(database, "mismatch", "candidate").insert(*finding.mismatch, candidate);
  leave(database, candidate, standing);
  return true;
}

std::vector<EliteCheck> read_checks(Database& database, CandidateId candidate) {
  return read_rows(database,
                   "SELECT " + columns_of<EliteCheck>() + " FROM elite_check WHERE candidate = ? ORDER BY name",
                   candidate, [](const Statement& row) { return read_record<EliteCheck>(row); });
}

std::vector<CandidateId> provisional_elites(Database& database, RunId run) {
  Statement keeps = database.prepare("SELECT keeps_front, board FROM run WHERE id = ?");
  keeps.bind(run).next();
  using Ranked = std::pair<double, CandidateId>;
  std::vector<Ranked> elites =
      read_rows(database, "SELECT latency_us, candidate FROM elite WHERE board = ?", keeps.integer(1),
                [](const Statement& row) { return Ranked(row.number(0), row.integer(1)); });
  if (keeps.integer(0) != 0) std::ranges::move(front_of(database, keeps.integer(1)), std::back_inserter(elites));
  const std::set<Ranked> by_latency(elites.begin(), elites.end());
  std::vector<CandidateId> provisional;
  for (const auto& [latency_us, elite] : by_latency)
    if (is_provisional(read_checks(database, elite))) provisional.push_back(elite);
  return provisional;
}

bool settle_checks(Database& database, CandidateId candidate, const CheckedElite& checked) {
  WriteTransaction transaction(database);
  database.prepare("DELETE FROM elite_check WHERE candidate = ?").bind(candidate).run();
  auto inserter = RecordInserter::of<EliteCheck>(database, "elite_check", "candidate");
  for (const EliteCheck& check : checked.checks) inserter.insert(check, candidate);
  const bool found = checked.finding && retract(database, candidate, *checked.finding);
  transaction.commit();
  return found;
}

std::map<std::uint64_t, std::vector<std::uint64_t>> retractions_of(Database& database, RunId run) {
  Statement row = database.prepare(
      "SELECT answered, ticket FROM retraction JOIN candidate ON candidate.id = retraction.candidate "
      "WHERE run = ? AND answered IS NOT NULL ORDER BY answered, ticket");
  row.bind(run);
  std::map<std::uint64_t, std::vector<std::uint64_t>> retractions;
  while (row.next()) retractions[row.natural(0)].push_back(row.natural(1));
  return retractions;
}

std::vector<std::uint64_t> take_untold(Database& database, RunId run, std::uint64_t answered) {
  constexpr const char* kSelect =
      "SELECT ticket, candidate.id FROM retraction JOIN candidate ON candidate.id = retraction.candidate "
      "WHERE run = ? AND answered IS NULL ORDER BY ticket";
  std::vector<std::uint64_t> tickets;
  std::vector<CandidateId> candidates;
  {
    Statement row = database.prepare(kSelect);
    row.bind(run);
    while (row.next()) {
      tickets.push_back(row.natural(0));
      candidates.push_back(row.integer(1));
    }
  }
  if (tickets.empty()) return {};
  WriteTransaction transaction(database);
  for (const CandidateId candidate : candidates)
    database.prepare("UPDATE retraction SET answered = ? WHERE candidate = ?").bind(answered, candidate).run();
  transaction.commit();
  return tickets;
}

std::optional<double> told_latency(Database& database, CandidateId candidate) {
  Statement row = database.prepare("SELECT latency_us FROM retraction WHERE candidate = ?");
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  return row.number(0);
}

}  // namespace evo

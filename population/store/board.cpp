#include "population/store/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "population/store/record_rows.h"
#include "population/store/rows.h"

namespace evo {
namespace {

void enter(Database& database, std::int64_t board, const Contender& elite, const Contender* displaced) {
  if (displaced) database.prepare("DELETE FROM elite WHERE candidate = ?").bind(displaced->candidate).run();
  const std::string now = now_of(database);
  const auto binary_hash = elite.binary_hash.empty() ? std::nullopt : std::optional(elite.binary_hash);
  database.prepare("INSERT INTO elite VALUES (?, ?, ?, ?, ?, ?)")
      .bind(elite.candidate, board, elite.latency_us, elite.source_hash, binary_hash, now)
      .run();
  const auto displaced_id = displaced ? std::optional(displaced->candidate) : std::nullopt;
  const auto displaced_us = displaced ? std::optional(displaced->latency_us) : std::nullopt;
  database
      .prepare(
          "INSERT INTO elite_history (board, entered, entered_us, displaced, displaced_us, at) "
          "VALUES (?, ?, ?, ?, ?, ?)")
      .bind(board, elite.candidate, elite.latency_us, displaced_id, displaced_us, now)
      .run();
}

}  // namespace

bool is_valid(Database& database, std::int64_t candidate) {
  Statement row = database.prepare("SELECT 1 FROM evaluation WHERE candidate = ? AND verdict = 'valid'");
  row.bind(candidate);
  return row.next();
}

Contender contender_of(Database& database, std::int64_t candidate) {
  Statement row = database.prepare(
      "SELECT latency_us, source_hash, binary_hash, worst_relative_l2, "
      "CASE WHEN EXISTS (SELECT 1 FROM timing WHERE timing.candidate = id AND modelled) THEN family ELSE '' END, "
      "coalesce((SELECT max(registers) FROM build_kernel WHERE build_kernel.candidate = id AND launched), 0) "
      "FROM candidate JOIN evaluation ON evaluation.candidate = id WHERE id = ? AND verdict = 'valid'");
  row.bind(candidate);
  if (!row.next()) throw row.unreadable(fmt::format("candidate {} competes and is not valid", candidate));
  return {candidate, row.number(0), row.text(1), row.text(2), row.text(4), row.number(3), row.integer(5)};
}

std::vector<Contender> elites_of(Database& database, std::int64_t board) {
  const std::vector<std::int64_t> candidates = read_rows(database, "SELECT candidate FROM elite WHERE board = ?", board,
                                                         [](const Statement& row) { return row.integer(0); });
  std::vector<Contender> elites;
  for (const std::int64_t candidate : candidates) elites.push_back(contender_of(database, candidate));
  return elites;
}

void compete(Database& database, std::int64_t board, const Contender& challenger) {
  const std::vector<Contender> elites = elites_of(database, board);
  const EliteDecision decision = decide(elites, challenger);
  if (!decision.enters) return;
  const auto displaced = std::find_if(elites.begin(), elites.end(),
                                      [&](const Contender& elite) { return decision.displaces == elite.candidate; });
  enter(database, board, challenger, displaced == elites.end() ? nullptr : &*displaced);
}

void enter_free_place(Database& database, std::int64_t board, const Contender& challenger) {
  const EliteDecision decision = decide(elites_of(database, board), challenger);
  if (decision.enters && !decision.displaces) enter(database, board, challenger, nullptr);
}

}  // namespace evo

// Store: what people noted of candidates, and what was asked of language models.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "population/store/database.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {
namespace {

NoteRow read_note(const Statement& row) {
  return {row.integer(0), row.integer(1), row.text(2), row.text(3)};
}

/// What read_exchange reads, but for the candidates.
std::string select_exchanges(std::string_view which) {
  return "SELECT exchange.id, exchange.at, asked.content, asked.hash, answered.content, answered.hash, " +
         columns_of<ExchangeRecord>("exchange.") +
         " FROM exchange JOIN text AS asked ON asked.id = exchange.prompt "
         "JOIN text AS answered ON answered.id = exchange.answer " +
         std::string(which);
}

ExchangeRow read_exchange(const Statement& row) {
  ExchangeRow read;
  int column = 6;
  read_next(row, column, read.exchange);
  read.at = row.text(1);
  read.exchange.prompt = intact_text(row, 2);
  read.exchange.answer = intact_text(row, 4);
  return read;
}

}  // namespace

void Store::add_note(CandidateId candidate, const std::string& text) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  Statement known = database.prepare("SELECT 1 FROM candidate WHERE id = ?");
  known.bind(candidate);
  if (!known.next()) {
    throw usage_error(fmt::format("database {} has no candidate {}: `evo elites` lists the best ones",
                                  database.path().string(), candidate));
  }
  database.prepare("INSERT INTO note (candidate, at, content) VALUES (?, ?, ?)")
      .bind(candidate, now_of(database), text)
      .run();
  transaction.commit();
}

std::vector<NoteRow> Store::notes_of_candidate(CandidateId candidate) const {
  return read_rows(*database_,
                   "SELECT candidate, run, at, content FROM note JOIN candidate ON candidate.id = note.candidate "
                   "WHERE candidate = ? ORDER BY note.id",
                   candidate, read_note);
}

std::vector<NoteRow> Store::notes_of_run(RunId run) const {
  return read_rows(*database_,
                   "SELECT candidate, run, at, content FROM note JOIN candidate ON candidate.id = note.candidate "
                   "WHERE run = ? ORDER BY note.id",
                   run, read_note);
}

ExchangeId Store::record_exchange(RunId run, const ExchangeRecord& exchange) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  const std::int64_t prompt = store_text(database, exchange.prompt);
  const std::int64_t answer = store_text(database, exchange.answer);
  RecordInserter::of<ExchangeRecord>(database, "exchange", "run, at, prompt, answer")
      .insert(exchange, run, now_of(database), prompt, answer);
  const ExchangeId id = database.last_id();
  transaction.commit();
  return id;
}

std::optional<ExchangeRecord> Store::exchange_of(CandidateId candidate) const {
  Statement row = database_->prepare(
      select_exchanges("JOIN exchange_candidate ON exchange.id = exchange_candidate.exchange WHERE candidate = ?"));
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  return read_exchange(row).exchange;
}

std::vector<ExchangeRow> Store::exchanges(RunId run) const {
  std::vector<ExchangeRow> rows;
  Statement row = database_->prepare(select_exchanges("WHERE exchange.run = ? ORDER BY exchange.id"));
  row.bind(run);
  while (row.next()) {
    rows.push_back(read_exchange(row));
    rows.back().candidates =
        read_rows(*database_, "SELECT candidate FROM exchange_candidate WHERE exchange = ? ORDER BY candidate",
                  row.integer(0), [](const Statement& one) -> CandidateId { return one.integer(0); });
  }
  return rows;
}

ExchangeSums Store::exchange_sums(RunId run) const {
  ExchangeSums sums;
  Statement row = database_->prepare(
      "SELECT count(*), coalesce(sum(failure <> ''), 0), coalesce(sum(prompt_tokens + answer_tokens), 0), total(cost), "
      "       (SELECT model FROM exchange WHERE run = ?1 ORDER BY id DESC LIMIT 1) "
      "FROM exchange WHERE run = ?1");
  row.bind(run);
  if (!row.next()) return sums;
  read_row(row, sums.requests, sums.failed, sums.tokens, sums.cost, sums.model);
  Statement brought = database_->prepare(
      "SELECT candidate.id, verdict = 'valid', latency_us "
      "FROM exchange_candidate JOIN candidate ON candidate.id = exchange_candidate.candidate "
      "JOIN evaluation ON evaluation.candidate = candidate.id WHERE candidate.run = ?");
  brought.bind(run);
  while (brought.next()) {
    ++sums.candidates;
    if (brought.integer(1) == 0) continue;
    ++sums.valid;
    if (sums.best_us && *sums.best_us <= brought.number(2)) continue;
    sums.best = brought.integer(0);
    sums.best_us = brought.number(2);
  }
  return sums;
}

}  // namespace evo

// Store: merges another database into this one, and compacts the database.
#include <fmt/format.h>

#include <map>
#include <set>

#include "engine/base/error.h"
#include "population/store/board.h"
#include "population/store/database.h"
#include "population/store/elite_checks.h"
#include "population/store/elites.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/schema.h"
#include "population/store/store.h"

namespace evo {
namespace {

/// The tables whose rows belong to one candidate, which their first column names, each behind those that it refers to.
std::vector<std::string> tables_of_candidates(Database& database) {
  Statement row = database.prepare(
      "SELECT name FROM sqlite_schema AS one WHERE type = 'table' AND name NOT IN ('elite', 'note', 'sitting') "
      "AND EXISTS (SELECT 1 FROM pragma_table_info(one.name) WHERE name = 'candidate') ORDER BY one.rowid");
  std::vector<std::string> tables;
  while (row.next()) tables.push_back(row.text(0));
  return tables;
}

class Merge {
 public:
  Merge(Database& into, Database& from) : into_(into), from_(from), of_candidates_(tables_of_candidates(from)) {}

  MergeCounts run() {
    Statement runs = from_.prepare(
        "SELECT id, board, device, salt, command_line, started_at, finished_at, status, evaluation_limit, * FROM run "
        "ORDER BY id");
    while (runs.next()) merge_run(runs);
    merge_elites();
    merge_sittings();
    merge_attacks();
    return counts_;
  }

 private:
  void merge_run(const Statement& row) {
    // Of a known run too: its task may be here without its files.
    const std::int64_t board = board_for(row.integer(1));
    if (const std::optional<std::int64_t> known = known_run(row)) {
      ++counts_.known_runs;
      continue_run(row, *known);
      return;
    }
    const std::int64_t device = device_for(row.integer(2));
    const std::int64_t id = insert("run", row, 9, {{"board", board}, {"device", device}});
    ++counts_.runs;
    merge_further_devices(row.integer(0), id);
    merge_exchanges(row.integer(0), id);
    merge_candidates(row.integer(0), id, {});
    merge_late_predictions(row.integer(0), id, -1);
  }

  /// Those of a known run that are not here either.
  void merge_exchanges(std::int64_t run, std::int64_t new_run) {
    Statement row = from_.prepare("SELECT id, at, prompt, answer, * FROM exchange WHERE run = ? ORDER BY id");
    row.bind(run);
    while (row.next()) {
      const std::int64_t prompt = text_for(row.integer(2));
      const std::int64_t answer = text_for(row.integer(3));
      Statement same = into_.prepare("SELECT id FROM exchange WHERE run = ? AND at = ? AND prompt = ? AND answer = ?");
      same.bind(new_run, row.text(1), prompt, answer);
      exchanges_[row.integer(0)] =
          same.next() ? same.integer(0)
                      : insert("exchange", row, 4, {{"run", new_run}, {"prompt", prompt}, {"answer", answer}});
    }
  }

  void merge_further_devices(std::int64_t run, std::int64_t new_run) {
    Statement row = from_.prepare("SELECT device, * FROM run_device WHERE run = ?");
    row.bind(run);
    while (row.next()) insert("run_device", row, 1, {{"run", new_run}, {"device", device_for(row.integer(0))}});
  }

  /// Of proposals behind the last one that the results here depend on.
  void merge_late_predictions(std::int64_t run, std::int64_t new_run, std::int64_t last_ticket) {
    into_.prepare("DELETE FROM late_prediction WHERE run = ? AND ticket > ?").bind(new_run, last_ticket).run();
    Statement row = from_.prepare("SELECT * FROM late_prediction WHERE run = ? AND ticket > ?");
    row.bind(run, last_ticket);
    while (row.next()) insert("late_prediction", row, 0, {{"run", new_run}});
  }

  /// A run is known by when it was started, what was typed, and the salt of its inputs.
  std::optional<std::int64_t> known_run(const Statement& row) {
    Statement same = into_.prepare("SELECT id FROM run WHERE salt = ? AND command_line = ? AND started_at = ?");
    same.bind(row.integer(3), row.text(4), row.text(5));
    if (!same.next()) return std::nullopt;
    return same.integer(0);
  }

  /// Brings the results that the other database has of a known run and this one lacks.
  void continue_run(const Statement& row, std::int64_t known) {
    const Results theirs = results_of(from_, row.integer(0));
    const Results ours = results_of(into_, known);
    if (contradict(theirs, ours)) {
      counts_.contradicting_runs.push_back(known);
      return;
    }
    const std::uint64_t before = counts_.candidates;
    merge_exchanges(row.integer(0), known);
    merge_candidates(row.integer(0), known, ours);
    if (counts_.candidates > before) {
      merge_late_predictions(row.integer(0), known, ours.empty() ? -1 : ours.rbegin()->first);
      ++counts_.continued_runs;
      take_state(row, known);
    } else if (theirs.size() == ours.size() && ended_later(row, known)) {
      take_state(row, known);
    }
  }

  /// Whether the run as it is in the other database has an end, and a later one than here.
  bool ended_later(const Statement& row, std::int64_t known) {
    Statement later = into_.prepare("SELECT 1 FROM run WHERE id = ?1 AND ?2 > coalesce(finished_at, '')");
    later.bind(known, row.text(6));
    return later.next();
  }

  /// Takes over the columns of a run that resuming it changes.
  void take_state(const Statement& row, std::int64_t known) {
    Statement update = into_.prepare("UPDATE run SET evaluation_limit = ?, status = ?, finished_at = ? WHERE id = ?");
    update.bind(row.integer(8), row.text(7));
    row.pass(6, update);
    update.bind(known).run();
  }

  /// The part of a candidate's result that a resumed search depends on.
  struct Result {
    std::int64_t candidate = 0;
    std::string genome, source_hash, verdict;
    std::optional<double> latency_us;
  };
  using Results = std::map<std::int64_t, Result>;  ///< By ticket.

  static Results results_of(Database& database, std::int64_t run) {
    Statement row = database.prepare(
        "SELECT ticket, id, genome, source_hash, iif(retraction.candidate IS NULL, verdict, 'valid'), "
        "coalesce(retraction.latency_us, evaluation.latency_us) FROM candidate "
        "JOIN evaluation ON evaluation.candidate = candidate.id "
        "LEFT JOIN retraction ON retraction.candidate = candidate.id WHERE run = ?");
    row.bind(run);
    Results results;
    while (row.next()) {
      results[row.integer(0)] = {row.integer(1), row.text(2), row.text(3), row.text(4), row.optional_number(5)};
    }
    return results;
  }

  static bool alike(const Result& a, const Result& b) {
    return a.genome == b.genome && a.source_hash == b.source_hash && a.verdict == b.verdict &&
           a.latency_us == b.latency_us;
  }

  /// Two copies of a run that went on from different results are two runs: no search could have been given both.
  static bool contradict(const Results& theirs, const Results& ours) {
    std::set<std::string_view> genomes;
    for (const auto& [ticket, result] : ours) genomes.insert(result.genome);
    for (const auto& [ticket, result] : theirs) {
      const auto same = ours.find(ticket);
      if (same == ours.end() ? genomes.contains(result.genome) : !alike(result, same->second)) return true;
    }
    return false;
  }

  std::int64_t task_for(std::int64_t task) {
    Statement row = from_.prepare("SELECT name, hash FROM task WHERE id = ?");
    row.bind(task);
    if (!row.next()) throw usage_error(fmt::format("{}: a run has no task", from_.path().string()));
    return task_id(into_, row.text(0), row.text(1), files_of(task));
  }

  SourceTree files_of(std::int64_t task) {
    Statement row =
        from_.prepare("SELECT path, content, hash FROM task_file JOIN text ON text.id = task_file.text WHERE task = ?");
    row.bind(task);
    SourceTree files;
    while (row.next()) files.emplace(inner_path(row, 0), intact_text(row, 1));
    return files;
  }

  std::int64_t board_for(std::int64_t board) {
    if (const auto known = boards_.find(board); known != boards_.end()) return known->second;
    Statement row = from_.prepare("SELECT task, device_key, objective FROM board WHERE id = ?");
    row.bind(board);
    if (!row.next()) throw usage_error(fmt::format("{}: a run has no board", from_.path().string()));
    const std::int64_t task = task_for(row.integer(0));
    into_.prepare("INSERT INTO board (task, device_key, objective) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
        .bind(task, row.text(1), row.text(2))
        .run();
    Statement found = into_.prepare("SELECT id FROM board WHERE task = ? AND device_key = ? AND objective = ?");
    found.bind(task, row.text(1), row.text(2)).next();
    return boards_[board] = found.integer(0);
  }

  std::int64_t device_for(std::int64_t device) {
    Statement row = from_.prepare("SELECT " + columns_of<DeviceRecord>() + " FROM device WHERE number = ?");
    row.bind(device);
    if (!row.next()) throw usage_error(fmt::format("{}: a run has no device", from_.path().string()));
    return device_id(into_, read_record<DeviceRecord>(row));
  }

  /// `known`: the results of the run that are here already.
  void merge_candidates(std::int64_t run, std::int64_t new_run, const Results& known) {
    Statement row = from_.prepare("SELECT id, ticket, * FROM candidate WHERE run = ? ORDER BY id");
    row.bind(run);
    while (row.next()) {
      if (const auto here = known.find(row.integer(1)); here != known.end()) {
        candidates_[row.integer(0)] = here->second.candidate;
        merge_notes(row.integer(0), here->second.candidate);
        merge_retraction(row.integer(0), here->second.candidate);
        continue;
      }
      const std::int64_t id = insert("candidate", row, 2, {{"run", new_run}});
      candidates_[row.integer(0)] = id;
      brought_.insert(row.integer(0));
      merge_notes(row.integer(0), id);
      for (const std::string& table : of_candidates_) copy(table, "candidate", row.integer(0), id);
      ++counts_.candidates;
    }
  }

  /// A known candidate that was found wrong there is wrong here, too.
  void merge_retraction(std::int64_t candidate, std::int64_t id) {
    Statement row = from_.prepare(
        "SELECT verdict, reason FROM retraction JOIN evaluation ON evaluation.candidate = retraction.candidate "
        "WHERE retraction.candidate = ?");
    row.bind(candidate);
    if (row.next()) retract(into_, id, {parse_verdict(row.text(0)), row.text(1)});
  }

  /// A note that is here already comes no second time.
  void merge_notes(std::int64_t candidate, std::int64_t id) {
    Statement row = from_.prepare("SELECT at, content, * FROM note WHERE candidate = ? ORDER BY id");
    row.bind(candidate);
    while (row.next()) {
      Statement same = into_.prepare("SELECT 1 FROM note WHERE candidate = ? AND at = ? AND content = ?");
      same.bind(id, row.text(0), row.text(1));
      if (!same.next()) insert("note", row, 2, {{"candidate", id}});
    }
  }

  /// The rows of a table that belong to an owner, a candidate or a sitting.
  void copy(std::string_view table, std::string_view owner, std::int64_t owner_there, std::int64_t id) {
    Statement row = from_.prepare(fmt::format("SELECT * FROM {} WHERE {} = ?", table, owner));
    row.bind(owner_there);
    while (row.next()) insert(table, row, 0, {{owner, id}});
  }

  /// Inserts a row, whose columns begin at `first`: with an id of its own, and with these `values` of here.
  std::int64_t insert(std::string_view table, const Statement& row, int first,
                      const std::map<std::string_view, std::int64_t>& values) {
    std::string columns;
    for (int column = first; column < row.columns(); ++column)
      if (row.column_name(column) != "id") columns += (columns.empty() ? "" : ", ") + row.column_name(column);
    Statement insert =
        into_.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, columns, places_of(columns)));
    for (int column = first; column < row.columns(); ++column) {
      const std::string name = row.column_name(column);
      if (const auto value = values.find(name); value != values.end())
        insert.bind(value->second);
      else if (name != "id")
        pass(row, column, insert);
    }
    insert.run();
    return into_.last_id();
  }

  /// Binds the next parameter to a column. What refers to another row there refers to the same row here.
  void pass(const Statement& row, int column, Statement& to) {
    const std::string name = row.column_name(column);
    if (name == "parent") {
      to.bind(here(candidates_, row.integer(column), name));
    } else if (name == "exchange") {
      to.bind(here(exchanges_, row.integer(column), name));
    } else if (name == "source" || name == "text") {
      to.bind(text_for(row.integer(column)));
    } else if (name == "elite") {
      const auto elite = candidates_.find(row.integer(column));  // Its run may contradict the one here.
      to.bind(elite == candidates_.end() ? 0 : elite->second);
    } else {
      row.pass(column, to);
    }
  }

  std::int64_t here(const std::map<std::int64_t, std::int64_t>& known, std::int64_t there, std::string_view what) {
    const auto found = known.find(there);
    if (found == known.end())
      throw usage_error(
          fmt::format("{}: a candidate has the {} {} of another run", from_.path().string(), what, there));
    return found->second;
  }

  std::int64_t text_for(std::int64_t text) {
    Statement row = from_.prepare("SELECT content, hash FROM text WHERE id = ?");
    row.bind(text).next();
    return store_text(into_, intact_text(row, 0));
  }

  /// The three best of both are among the elites of either.
  void merge_elites() {
    Statement row = from_.prepare("SELECT candidate, board FROM elite ORDER BY latency_us, candidate");
    while (row.next()) {
      if (!brought_.contains(row.integer(0))) continue;
      const std::int64_t candidate = candidates_.at(row.integer(0));
      compete(into_, boards_.at(row.integer(1)), contender_of(into_, candidate));
      Statement entered = into_.prepare("SELECT 1 FROM elite WHERE candidate = ?");
      entered.bind(candidate);
      if (entered.next()) ++counts_.elites;
    }
  }

  /// A sitting is known by its candidate, and by when it was held.
  void merge_sittings() {
    Statement row = from_.prepare("SELECT id, candidate, device, at, * FROM sitting ORDER BY id");
    while (row.next()) {
      const auto candidate = candidates_.find(row.integer(1));
      if (candidate == candidates_.end()) continue;  // Its run contradicts the one here.
      Statement known = into_.prepare("SELECT 1 FROM sitting WHERE candidate = ? AND at = ?");
      known.bind(candidate->second, row.text(3));
      if (known.next()) continue;
      const std::int64_t device = device_for(row.integer(2));
      copy("rival", "sitting", row.integer(0),
           insert("sitting", row, 4, {{"candidate", candidate->second}, {"device", device}}));
    }
  }

  void merge_attacks() {
    Statement row = from_.prepare("SELECT task, device, regime, * FROM attack ORDER BY id");
    while (row.next()) {
      const std::int64_t task = task_for(row.integer(0)), device = device_for(row.integer(1));
      Statement known = into_.prepare("SELECT 1 FROM attack WHERE task = ? AND regime = ?");
      known.bind(task, row.text(2));
      if (!known.next()) insert("attack", row, 3, {{"task", task}, {"device", device}});
    }
  }

  Database& into_;
  Database& from_;
  const std::vector<std::string> of_candidates_;  ///< Tables.
  MergeCounts counts_;
  std::map<std::int64_t, std::int64_t> boards_;      ///< From the ids there to those here.
  std::map<std::int64_t, std::int64_t> candidates_;  ///< Likewise.
  std::map<std::int64_t, std::int64_t> exchanges_;   ///< Likewise.
  std::set<std::int64_t> brought_;                   ///< Of these, by their ids there, those that were not here.
};

std::optional<std::filesystem::path> real_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? std::nullopt : std::optional(real);
}

}  // namespace

MergeCounts Store::merge(const std::filesystem::path& other) {
  if (const auto here = real_path(path()); here && here == real_path(other)) {
    throw usage_error(fmt::format("{} is the database itself: name another one to merge", other.string()));
  }
  const Store opened = Store::open(other, Mode::read);
  if (const std::vector<std::string> problems = opened.check(); !problems.empty()) {
    throw usage_error(fmt::format("{} is not sound, nothing was merged: {}", other.string(), problems.front()));
  }
  Database& from = *opened.database_;
  const ReadTransaction reading(from);
  WriteTransaction transaction(*database_);
  const MergeCounts counts = Merge(*database_, from).run();
  transaction.commit();
  return counts;
}

void Store::compact() {
  database_->execute(
      "DELETE FROM text WHERE id NOT IN (SELECT source FROM program) AND id NOT IN (SELECT text FROM task_file) "
      "AND id NOT IN (SELECT text FROM candidate_file) AND id NOT IN (SELECT prompt FROM exchange) "
      "AND id NOT IN (SELECT answer FROM exchange)");
  database_->execute("VACUUM");
  database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace evo

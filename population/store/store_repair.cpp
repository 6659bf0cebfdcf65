// Store: makes a database anew of what can be read of a damaged one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <system_error>

#include "engine/base/error.h"
#include "population/store/record_rows.h"
#include "population/store/row_checks.h"
#include "population/store/schema.h"
#include "population/store/store.h"

namespace evo {
namespace {

namespace fs = std::filesystem;

/// What stands in rows of these tables belongs to a candidate as much as its own row: without it the candidate goes.
const std::set<std::string> kParts = {"program", "candidate_file", "build_kernel"};

std::vector<std::string> names(Database& database, const std::string& sql) {
  Statement row = database.prepare(sql);
  std::vector<std::string> found;
  while (row.next()) found.push_back(row.text(0));
  return found;
}

/// Each behind those that it refers to.
std::vector<std::string> tables_of(Database& database) {
  return names(database,
               "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid");
}

class Repair {
 public:
  Repair(Database& from, Database& into) : from_(from), into_(into), tables_(tables_of(into)) {}

  /// Returns what was dropped.
  std::vector<std::string> run() {
    into_.execute("PRAGMA foreign_keys = OFF");
    WriteTransaction transaction(into_);
    for (const std::string& table : tables_) copy(table);
    for (const BadRow& row : bad_rows(into_)) {
      dropped_.push_back(row.text());
      drop("candidate", row.key == "candidate" ? "id" : "", row.owner);
      drop(row.table, row.key, row.owner);
    }
    drop_what_refers_to_nothing();
    settle_elites();
    transaction.commit();
    return dropped_;
  }

 private:
  void copy(const std::string& table) {
    if (!has_exact_table(from_, table)) {
      dropped_.push_back(fmt::format("the table {} is missing, or another one than evo's: it is empty now", table));
      return;
    }
    const std::string columns = fmt::format(
        "{}", fmt::join(names(into_, fmt::format("SELECT name FROM pragma_table_info('{}')", table)), ", "));
    Statement row = from_.prepare(fmt::format("SELECT {} FROM {}", columns, table));
    Statement insert =
        into_.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, columns, places_of(columns)));
    try {
      while (row.next()) copy_row(table, row, insert);
    } catch (const Error& error) {
      dropped_.push_back(fmt::format("the rest of the table {} cannot be read: {}", table, error.what()));
    }
  }

  void copy_row(const std::string& table, const Statement& row, Statement& insert) {
    try {
      for (int column = 0; column < row.columns(); ++column) row.pass(column, insert);
      insert.run();
    } catch (const Error& error) {
      insert.reset();
      dropped_.push_back(fmt::format("a row of the table {} does not belong there: {}", table, error.what()));
    }
  }

  /// Does nothing without a column.
  void drop(const std::string& table, const std::string& column, std::int64_t value) {
    if (column.empty()) return;
    into_.prepare(fmt::format("DELETE FROM {} WHERE {} = ?", table, column)).bind(value).run();
  }

  /// A reference from one table to another: its columns here and there.
  struct Reference {
    std::string to;
    std::vector<std::string> columns, keys;
  };

  std::vector<Reference> references_of(const std::string& table) {
    std::map<std::int64_t, Reference> found;
    Statement row = into_.prepare(fmt::format(
        "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list('{}') ORDER BY id, seq", table));
    while (row.next()) {
      Reference& reference = found[row.integer(0)];
      reference.to = row.text(1);
      reference.columns.push_back(row.text(2));
      if (!row.is_null(3)) reference.keys.push_back(row.text(3));
    }
    std::vector<Reference> references;
    for (auto& [id, reference] : found) {
      if (reference.keys.empty())
        reference.keys = names(
            into_, fmt::format("SELECT name FROM pragma_table_info('{}') WHERE pk > 0 ORDER BY pk", reference.to));
      references.push_back(std::move(reference));
    }
    return references;
  }

  /// Until nothing changes: what is dropped may be what others refer to.
  void drop_what_refers_to_nothing() {
    for (int changed = 1; changed > 0;) {
      changed = drop_candidates("id NOT IN (SELECT candidate FROM evaluation)", "without an evaluation");
      for (const std::string& table : tables_)
        for (const Reference& reference : references_of(table)) changed += drop_dangling(table, reference);
    }
  }

  int drop_dangling(const std::string& table, const Reference& reference) {
    std::vector<std::string> same;
    for (std::size_t i = 0; i < reference.columns.size(); ++i)
      same.push_back(fmt::format("there.{} = {}.{}", reference.keys.at(i), table, reference.columns[i]));
    const std::string dangling = fmt::format("{}.{} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {} AS there WHERE {})",
                                             table, reference.columns.front(), reference.to, fmt::join(same, " AND "));
    int changed = 0;
    if (kParts.contains(table))
      changed += drop_candidates(fmt::format("id IN (SELECT candidate FROM {} WHERE {})", table, dangling),
                                 fmt::format("without a {}", reference.to));
    const int rows = into_.prepare(fmt::format("DELETE FROM {} WHERE {}", table, dangling)).run();
    if (rows > 0) count(table, reference.to, rows);
    return changed + rows;
  }

  int drop_candidates(const std::string& which, const std::string& why) {
    const int rows = into_.prepare(fmt::format("DELETE FROM candidate WHERE {}", which)).run();
    if (rows > 0) dropped_.push_back(fmt::format("{} candidate{} dropped: {}", rows, rows == 1 ? "" : "s", why));
    return rows;
  }

  void count(const std::string& table, const std::string& to, int rows) {
    dropped_.push_back(
        fmt::format("{} row{} of the table {} dropped: their {} is not there", rows, rows == 1 ? "" : "s", table, to));
  }

  /// Those that are valid candidates of their boards stay. Where their history has gaps, it begins anew.
  void settle_elites() {
    into_
        .prepare(
            "DELETE FROM elite WHERE NOT EXISTS (SELECT 1 FROM candidate JOIN run ON run.id = candidate.run "
            "JOIN evaluation ON evaluation.candidate = candidate.id WHERE candidate.id = elite.candidate "
            "AND verdict = 'valid' AND run.board = elite.board AND evaluation.latency_us IS elite.latency_us)")
        .run();
    if (dropped_.empty()) return;
    into_.prepare("DELETE FROM elite_history").run();
    into_
        .prepare(
            "INSERT INTO elite_history (board, entered, entered_us, at) SELECT board, candidate, latency_us, since "
            "FROM elite ORDER BY since, candidate")
        .run();
    dropped_.push_back("the history of the elites begins anew with those that are left");
  }

  Database& from_;
  Database& into_;
  const std::vector<std::string> tables_;
  std::vector<std::string> dropped_;
};

fs::path beside(const fs::path& path, const std::string& end) {
  fs::path other = path;
  other += end;
  std::error_code error;
  if (fs::exists(fs::symlink_status(other, error)))
    throw usage_error(fmt::format("{} is in the way of a repair: move it away first", other.string()));
  return other;
}

void rename_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    throw machine_error(fmt::format("cannot rename {} to {}: {}", from.string(), to.string(), error.message()));
}

}  // namespace

std::vector<std::string> Store::repair(const fs::path& path) {
  const fs::path made = beside(path, ".repaired"), kept = beside(path, ".before-repair");
  std::vector<std::string> dropped;
  try {
    const Store damaged = Store::open(path, Mode::inspect);
    Database into(made, Database::Access::create, 0);
    migrate(into);
    dropped = Repair(*damaged.database_, into).run();
  } catch (...) {
    std::error_code ignored;
    fs::remove(made, ignored);
    throw;
  }
  // The log of the former goes with it: what another process has open stays whole.
  rename_file(path, kept);
  std::error_code ignored;
  for (const char* end : {"-wal", "-shm"}) fs::rename(fs::path(path) += end, fs::path(kept) += end, ignored);
  rename_file(made, path);
  return dropped;
}

}  // namespace evo

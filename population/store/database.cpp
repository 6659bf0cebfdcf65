#include "population/store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

namespace evo {
namespace {

// Primary result codes of sqlite3.h; its header is kept out of this file's dependencies but these numbers are
// fixed by SQLite's compatibility promise (sqlite.org/rescode.html).
enum Code {
  kBusy = 5,
  kLocked = 6,
  kReadOnly = 8,
  kIoError = 10,
  kCorrupt = 11,
  kFull = 13,
  kCannotOpen = 14,
  kNotADatabase = 26
};

Error explain(const std::filesystem::path& path, const SQLite::Exception& error) {
  const std::string file = path.string();
  switch (error.getErrorCode() & 0xff) {
    case kBusy:
    case kLocked:
      return machine_error(fmt::format(
          "database {} is locked by another process: wait until it has finished or choose another --db", file));
    case kReadOnly:
      return machine_error(fmt::format(
          "database {} cannot be written: make the file and its folder writable or choose another --db", file));
    case kIoError:
      return machine_error(
          fmt::format("database {} cannot be read or written ({}): check the disk it is on", file, error.what()));
    case kCorrupt:
      return machine_error(
          fmt::format("database {} is damaged ({}): `evo db check --repair --db {}` keeps what can be read, or choose "
                      "another --db",
                      file, error.what(), file));
    case kFull:
      return machine_error(
          fmt::format("no space left for database {}: free some space; what was reported is kept", file));
    case kCannotOpen:
      return machine_error(
          fmt::format("database {} cannot be opened: check that its folder exists and that you may read and "
                      "write there, or choose another --db",
                      file));
    case kNotADatabase:
      return usage_error(fmt::format("{} is not a database: name another file", file));
    default:
      return machine_error(fmt::format("database {}: {}", file, error.what()));
  }
}

template <class Action>
auto explained(const std::filesystem::path& path, Action&& action) -> decltype(action()) {
  try {
    return action();
  } catch (const SQLite::Exception& error) {
    throw explain(path, error);
  }
}

/// The name as SQLite's URI form wants it, so that a file name cannot smuggle in options.
std::string uri_of(const std::filesystem::path& path, std::string_view options) {
  std::string uri = "file:";
  for (const unsigned char c : path.string()) {
    const bool plain = std::isalnum(c) || std::strchr("/._-", c);
    if (plain) {
      uri += static_cast<char>(c);
    } else {
      uri += fmt::format("%{:02X}", c);
    }
  }
  return uri.append("?").append(options);
}

std::unique_ptr<SQLite::Database> connect(const std::filesystem::path& path, std::string_view options, int flags,
                                          int busy_timeout_ms) {
  if (path == ":memory:")
    return std::make_unique<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  return std::make_unique<SQLite::Database>(uri_of(path, options), flags | SQLite::OPEN_URI, busy_timeout_ms);
}

bool readable(SQLite::Database& connection) {
  try {
    connection.execAndGet("SELECT count(*) FROM sqlite_schema");
    return true;
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode() & 0xff;
    if (code == kCannotOpen || code == kReadOnly) return false;
    throw;
  }
}

bool has_log(const std::filesystem::path& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path.string() + "-wal", error);
  return !error && bytes > 0;
}

/// Null when the permissions do not allow this way of opening.
std::unique_ptr<SQLite::Database> try_connect_to_read(const std::filesystem::path& path, std::string_view options,
                                                      int flags, int busy_timeout_ms) {
  try {
    auto connection = connect(path, options, flags, busy_timeout_ms);
    if (!readable(*connection)) return nullptr;
    connection->exec("PRAGMA query_only = ON");
    return connection;
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode() & 0xff;
    if (code == kCannotOpen || code == kReadOnly) return nullptr;
    throw;
  }
}

/// Read access that leaves nothing behind. A connection that may write tidies up SQLite's -wal and -shm files
/// when it is the last to close, a read-only one cannot; query_only keeps it from changing anything. Where
/// writing is not permitted: plain read-only. That fails when SQLite would have to make those files; without
/// a log the file is complete by itself and nobody has it open, so it may be taken as immutable.
std::unique_ptr<SQLite::Database> connect_to_read(const std::filesystem::path& path, int busy_timeout_ms) {
  auto connection = try_connect_to_read(path, "mode=rw", SQLite::OPEN_READWRITE, busy_timeout_ms);
  if (!connection) connection = try_connect_to_read(path, "mode=ro", SQLite::OPEN_READONLY, busy_timeout_ms);
  if (!connection && !has_log(path)) {
    connection = try_connect_to_read(path, "mode=ro&immutable=1", SQLite::OPEN_READONLY, busy_timeout_ms);
  }
  if (connection) return connection;
  throw machine_error(
      fmt::format("database {} cannot be read: check the permissions of the file and its folder", path.string()));
}

}  // namespace

Statement::Statement(Database& database, std::string sql) : database_(database), sql_(std::move(sql)) {
  auto& idle = database_.idle_[sql_];
  if (!idle.empty()) {
    statement_ = std::move(idle.back());
    idle.pop_back();
    return;
  }
  statement_ =
      explained(database_.path_, [&] { return std::make_unique<SQLite::Statement>(*database_.connection_, sql_); });
}

Statement::~Statement() {
  if (!statement_) return;
  statement_->tryReset();
  try {
    statement_->clearBindings();
    database_.idle_[sql_].push_back(std::move(statement_));
  } catch (...) {
    // Not given back: it is prepared again when it is next needed.
  }
}

Statement& Statement::bind(std::int64_t value) {
  explained(database_.path_, [&] { statement_->bind(++bound_, value); });
  return *this;
}

Statement& Statement::bind(double value) {
  if (std::isnan(value)) return bind(std::nullopt);
  explained(database_.path_, [&] { statement_->bind(++bound_, value); });
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  explained(database_.path_, [&] { statement_->bind(++bound_, std::string(value)); });
  return *this;
}

Statement& Statement::bind(std::nullopt_t) {
  explained(database_.path_, [&] { statement_->bind(++bound_); });
  return *this;
}

bool Statement::next() {
  return explained(database_.path_, [&] { return statement_->executeStep(); });
}

int Statement::run() {
  return explained(database_.path_, [&] {
    const int changed = statement_->exec();
    statement_->reset();
    bound_ = 0;
    return changed;
  });
}

void Statement::reset() {
  statement_->tryReset();
  bound_ = 0;
}

bool Statement::is_null(int column) const {
  return explained(database_.path_, [&] { return statement_->getColumn(column).isNull(); });
}

std::int64_t Statement::integer(int column) const {
  return explained(database_.path_, [&] { return statement_->getColumn(column).getInt64(); });
}

double Statement::number(int column) const {
  return optional_number(column).value_or(std::nan(""));
}

std::optional<double> Statement::optional_number(int column) const {
  if (is_null(column)) return std::nullopt;
  return explained(database_.path_, [&] { return statement_->getColumn(column).getDouble(); });
}

std::string Statement::text(int column) const {
  return explained(database_.path_, [&] { return statement_->getColumn(column).getString(); });
}

int Statement::columns() const {
  return statement_->getColumnCount();
}

std::string Statement::column_name(int column) const {
  return statement_->getColumnName(column);
}

void Statement::pass(int column, Statement& to) const {
  explained(database_.path_, [&] {
    const SQLite::Column value = statement_->getColumn(column);
    if (value.isNull())
      to.bind(std::nullopt);
    else if (value.isInteger())
      to.bind(value.getInt64());
    else if (value.isFloat())
      to.bind(value.getDouble());
    else
      to.bind(value.getString());
  });
}

Error Statement::unreadable(std::string_view why) const {
  return machine_error(fmt::format("database {} has an unreadable row: {}", database_.path_.string(), why));
}

WriteTransaction::WriteTransaction(Database& database) : database_(database) {
  transaction_ = explained(database.path_, [&] {
    return std::make_unique<SQLite::Transaction>(*database.connection_, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

WriteTransaction::~WriteTransaction() = default;

void WriteTransaction::commit() {
  explained(database_.path_, [&] { transaction_->commit(); });
}

ReadTransaction::ReadTransaction(Database& database) {
  transaction_ = explained(database.path_, [&] {
    return std::make_unique<SQLite::Transaction>(*database.connection_, SQLite::TransactionBehavior::DEFERRED);
  });
}

// Nothing was written, so rolling back is as good as committing.
ReadTransaction::~ReadTransaction() = default;

Database::Database(const std::filesystem::path& path, Access access, int busy_timeout_ms) : path_(path), leases_(path) {
  connection_ = explained(path_, [&] {
    if (access == Access::read) return connect_to_read(path_, busy_timeout_ms);
    const bool create = access == Access::create;
    return connect(path_, create ? "mode=rwc" : "mode=rw", SQLite::OPEN_READWRITE | (create ? SQLite::OPEN_CREATE : 0),
                   busy_timeout_ms);
  });
  execute("PRAGMA foreign_keys = ON");
  // The file may be somebody else's: its views call no functions with side effects, and damaged cells are noticed.
  execute("PRAGMA trusted_schema = OFF");
  execute("PRAGMA cell_size_check = ON");
}

Database::~Database() = default;

void Database::execute(const char* sql) {
  explained(path_, [&] { connection_->exec(sql); });
}

bool Database::try_execute(const char* sql) {
  try {
    connection_->exec(sql);
    return true;
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode() & 0xff;
    if (code == kBusy || code == kLocked) return false;
    throw explain(path_, error);
  }
}

std::int64_t Database::pragma(std::string_view name) {
  Statement statement = prepare(fmt::format("PRAGMA {}", name));
  return statement.next() ? statement.integer(0) : 0;
}

std::int64_t Database::last_id() const {
  return connection_->getLastInsertRowid();
}

}  // namespace evo

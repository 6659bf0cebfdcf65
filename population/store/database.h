#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/error.h"
#include "population/store/run_leases.h"

namespace SQLite {
class Database;
class Statement;
class Transaction;
}  // namespace SQLite

namespace evo {

/// Internal to population/: SQLite with this project's errors. Every failure is an evo::Error in one line
/// that names the file and what to do.

class Database;

/// A prepared statement taken from the database's cache, given back when it goes out of scope.
class Statement {
 public:
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds the next parameter. A NaN is stored as NULL, as SQLite has none.
  Statement& bind(std::int64_t value);
  Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(bool value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind(const std::string& value) { return bind(std::string_view(value)); }
  Statement& bind(const char* value) { return bind(std::string_view(value)); }
  Statement& bind(std::nullopt_t);
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind(std::nullopt);
  }
  /// Binds the next parameters in order.
  template <class... Values>
  requires(sizeof...(Values) > 1) Statement& bind(const Values&... values) {
    (bind(values), ...);
    return *this;
  }

  bool next();   ///< To the next row; false when there is none.
  void reset();  ///< To be bound again, after an error.
  int run();     ///< Runs a statement without rows, ready to be bound again. Returns how many rows it changed.

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::uint64_t natural(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  double number(int column) const;  ///< NULL reads as NaN.
  std::optional<double> optional_number(int column) const;
  std::string text(int column) const;  ///< NULL reads as empty.
  int columns() const;
  std::string column_name(int column) const;

  /// Binds the next parameter to a value of this row, as it is stored.
  void pass(int column, Statement& to) const;

  /// The error of a row that holds what is no value of its column: somebody may have edited it by hand.
  Error unreadable(std::string_view why) const;

 private:
  friend class Database;
  Statement(Database& database, std::string sql);

  Database& database_;
  std::string sql_;
  std::unique_ptr<SQLite::Statement> statement_;
  int bound_ = 0;
};

/// Takes the write lock at once, so that a transaction that starts can also finish; rolled back unless
/// committed.
class WriteTransaction {
 public:
  explicit WriteTransaction(Database& database);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;
  void commit();

 private:
  Database& database_;
  std::unique_ptr<SQLite::Transaction> transaction_;
};

/// Several reads of one state of the database while others write.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database);
  ~ReadTransaction();
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  std::unique_ptr<SQLite::Transaction> transaction_;
};

class Database {
 public:
  enum class Access {
    read,    ///< Nothing is written and nothing is left behind.
    write,   ///< The file must exist.
    create,  ///< The file is made when missing.
  };
  Database(const std::filesystem::path& path, Access access, int busy_timeout_ms);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::filesystem::path& path() const { return path_; }
  RunLeases& leases() { return leases_; }
  Statement prepare(std::string_view sql) { return Statement(*this, std::string(sql)); }
  void execute(const char* sql);
  /// As execute, but returns false instead of throwing while another process holds a lock.
  bool try_execute(const char* sql);
  std::int64_t pragma(std::string_view name);
  std::int64_t last_id() const;

 private:
  friend class Statement;
  friend class WriteTransaction;
  friend class ReadTransaction;

  std::filesystem::path path_;
  RunLeases leases_;
  std::unique_ptr<SQLite::Database> connection_;
  std::map<std::string, std::vector<std::unique_ptr<SQLite::Statement>>> idle_;  ///< By their SQL.
};

/// One element for each row of a query: what `read` makes of it. The query's parameter is `parameter`.
template <class Read>
auto read_rows(Database& database, std::string_view sql, std::int64_t parameter, Read&& read) {
  Statement rows = database.prepare(sql);
  rows.bind(parameter);
  std::vector<std::decay_t<decltype(read(rows))>> found;
  while (rows.next()) found.push_back(read(rows));
  return found;
}

}  // namespace evo

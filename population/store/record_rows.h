#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/json_depth.h"
#include "engine/expression/json_value.h"
#include "engine/record/enumerators.h"
#include "engine/record/record.h"
#include "engine/record/record_json.h"
#include "engine/search/seeds.h"
#include "engine/task/target.h"
#include "population/store/database.h"

/// Records (engine/record/record.h) as rows: numbers, texts and enumerations, which are stored by name, are columns.
/// Lists of numbers, and what users write, are columns of JSON. Other lists, maps and records that a record holds have
/// tables of their own. Internal to population/store; included by sources alone.
namespace evo {

/// Values of these types are JSON in the database.
template <class T>
inline constexpr bool kIsJson = false;
template <>
inline constexpr bool kIsJson<Bindings> = true;
template <>
inline constexpr bool kIsJson<Genome> = true;
template <>
inline constexpr bool kIsJson<Target> = true;
template <>
inline constexpr bool kIsJson<std::vector<Seed>> = true;
template <>
inline constexpr bool kIsJson<std::vector<double>> = true;

template <class T>
concept PlainColumn = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string> || kIsJson<T>;

/// Fields of these types are columns.
template <class T>
constexpr bool is_column() {
  if constexpr (kIsOptional<T>)
    return PlainColumn<typename T::value_type>;
  else
    return PlainColumn<T>;
}

/// Calls `visit` with the name and the value of each column.
template <class Record, class Visit>
void for_each_column(Record& record, Visit&& visit) {
  for_each_field(record, [&]<class Value>(const char* name, Value& value) {
    if constexpr (is_column<std::remove_const_t<Value>>()) visit(name, value);
  });
}

/// "shape, modelled, cold"; each with `ahead` ahead of it: "timing.".
template <class Record>
std::string columns_of(std::string_view ahead = "") {
  std::string columns;
  Record record;
  for_each_column(record, [&](const char* name, const auto&) {
    columns.append(columns.empty() ? "" : ", ").append(ahead).append(name);
  });
  return columns;
}

/// "?, ?, ?": a place for each of the columns.
inline std::string places_of(std::string_view columns) {
  std::string places = "?";
  for (const char c : columns)
    if (c == ',') places += ", ?";
  return places;
}

template <PlainColumn T>
void bind_value(Statement& statement, const T& value) {
  if constexpr (std::is_enum_v<T>)
    statement.bind(enumerator_name(value));
  else if constexpr (kIsJson<T>)
    statement.bind(to_json<nlohmann::json>(value).dump());
  else
    statement.bind(value);
}

template <PlainColumn T>
void bind_value(Statement& statement, const std::optional<T>& value) {
  value ? bind_value(statement, *value) : static_cast<void>(statement.bind(std::nullopt));
}

template <IsRecord Record>
void bind_record(Statement& statement, const Record& record) {
  for_each_column(record, [&](const char*, const auto& value) { bind_value(statement, value); });
}

/// Throws machine_error, which names the database, for what it cannot read: somebody may have edited the row by hand.
template <class T>
T value_of(const Statement& row, int column) {
  if constexpr (kIsOptional<T>) {
    if (row.is_null(column)) return std::nullopt;
    return value_of<typename T::value_type>(row, column);
  } else if constexpr (std::is_enum_v<T>) {
    const auto value = enumerator_named<T>(row.text(column));
    if (!value) throw row.unreadable("unknown value '" + row.text(column) + "'");
    return *value;
  } else if constexpr (kIsJson<T>) {
    try {
      const std::string text = row.text(column);
      require_shallow_json(text, "malformed JSON");
      return from_json<T>(nlohmann::json::parse(text, nullptr, false), row.column_name(column));
    } catch (const std::runtime_error& error) {
      throw row.unreadable(error.what());
    }
  } else if constexpr (std::same_as<T, bool>) {
    return row.integer(column) != 0;
  } else if constexpr (std::integral<T>) {
    // An unsigned number of 64 bits is stored bit for bit.
    const std::int64_t value = row.integer(column);
    if constexpr (sizeof(T) < sizeof(value))
      if (!std::in_range<T>(value)) throw row.unreadable(std::to_string(value) + " is no " + row.column_name(column));
    return static_cast<T>(value);
  } else if constexpr (std::floating_point<T>) {
    return row.number(column);
  } else {
    return row.text(column);
  }
}

/// Reads a value from a row's next column, or a record from its next columns, which stand as in columns_of. A record
/// that may be missing is, where the first of them is NULL.
template <class T>
void read_next(const Statement& row, int& column, T& value) {
  if constexpr (is_column<T>()) {
    value = value_of<T>(row, column++);
  } else if constexpr (kIsOptional<T>) {
    const int first = column;
    typename T::value_type record;
    for_each_column(record, [&](const char*, const auto&) { ++column; });
    if (!row.is_null(first)) read_next(row, column = first, value.emplace());
  } else {
    for_each_column(value, [&](const char*, auto& part) { read_next(row, column, part); });
  }
}

/// Reads values and records from a row's columns.
template <class... Values>
void read_row(const Statement& row, Values&... values) {
  int column = 0;
  (read_next(row, column, values), ...);
}

/// Reads the columns from `first` on.
template <class Record>
Record read_record(const Statement& row, int first = 0) {
  Record record;
  read_next(row, first, record);
  return record;
}

/// Inserts records into a table whose further columns, `keys`, come first.
class RecordInserter {
 public:
  /// Of records of this type.
  template <class Record>
  static RecordInserter of(Database& database, std::string_view table, std::string_view keys) {
    const std::string columns = std::string(keys) + ", " + columns_of<Record>();
    return {database, "INSERT INTO " + std::string(table) + " (" + columns + ") VALUES (" + places_of(columns) + ")"};
  }

  template <class Record, class... Keys>
  void insert(const Record& record, const Keys&... keys) {
    (statement_.bind(keys), ...);
    bind_record(statement_, record);
    statement_.run();
  }

 private:
  RecordInserter(Database& database, const std::string& sql) : statement_(database.prepare(sql)) {}
  Statement statement_;
};

/// Inserts records that belong to a candidate, in their order.
template <class Record>
void insert_records(Database& database, std::string_view table, std::int64_t candidate,
                    const std::vector<Record>& records) {
  if (records.empty()) return;
  auto inserter = RecordInserter::of<Record>(database, table, "candidate, position");
  std::int64_t position = 0;
  for (const Record& record : records) inserter.insert(record, candidate, position++);
}

/// Those of a candidate, in their order.
template <class Record>
std::vector<Record> read_records(Database& database, std::string_view table, std::int64_t candidate) {
  return read_rows(
      database,
      "SELECT " + columns_of<Record>() + " FROM " + std::string(table) + " WHERE candidate = ? ORDER BY position",
      candidate, [](const Statement& row) { return read_record<Record>(row); });
}

/// The one that a candidate may have.
template <class Record>
std::optional<Record> read_single(Database& database, std::string_view table, std::int64_t candidate) {
  Statement row =
      database.prepare("SELECT " + columns_of<Record>() + " FROM " + std::string(table) + " WHERE candidate = ?");
  row.bind(candidate);
  if (!row.next()) return std::nullopt;
  return read_record<Record>(row);
}

}  // namespace evo

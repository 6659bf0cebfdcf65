#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/record/enumerators.h"
#include "engine/record/record.h"
#include "population/store/database.h"

/// Records (engine/record/record.h) as rows: numbers, texts and enumerations, which are stored by name, are columns.
/// Lists, maps and records that a record holds have tables of their own. Internal to population/store.
namespace evo {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
concept PlainColumn = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string>;

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

template <PlainColumn T>
void bind_value(Statement& statement, const T& value) {
  if constexpr (std::is_enum_v<T>)
    statement.bind(enumerator_name(value));
  else
    statement.bind(value);
}

template <PlainColumn T>
void bind_value(Statement& statement, const std::optional<T>& value) {
  value ? bind_value(statement, *value) : static_cast<void>(statement.bind(std::nullopt));
}

template <class T>
T value_of(const Statement& row, int column) {
  if constexpr (kIsOptional<T>) {
    if (row.is_null(column)) return std::nullopt;
    return value_of<typename T::value_type>(row, column);
  } else if constexpr (std::is_enum_v<T>) {
    const auto value = enumerator_named<T>(row.text(column));
    if (!value) throw row.unreadable(row.text(column));
    return *value;
  } else if constexpr (std::same_as<T, bool>) {
    return row.integer(column) != 0;
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(row.integer(column));
  } else if constexpr (std::floating_point<T>) {
    return row.number(column);
  } else {
    return row.text(column);
  }
}

/// Reads the columns from `first` on, which stand as in columns_of.
template <class Record>
Record read_record(const Statement& row, int first = 0) {
  Record record;
  for_each_column(record, [&]<class Value>(const char*, Value& value) { value = value_of<Value>(row, first++); });
  return record;
}

/// Inserts records into a table whose further columns, `keys`, come first.
class RecordInserter {
 public:
  /// Of records of this type.
  template <class Record>
  static RecordInserter of(Database& database, std::string_view table, std::string_view keys) {
    std::string columns = std::string(keys) + ", " + columns_of<Record>();
    std::string places = "?";
    for (const char c : columns)
      if (c == ',') places += ", ?";
    return {database, "INSERT INTO " + std::string(table) + " (" + columns + ") VALUES (" + places + ")"};
  }

  template <class Record, class... Keys>
  void insert(const Record& record, const Keys&... keys) {
    (statement_.bind(keys), ...);
    for_each_column(record, [&](const char*, const auto& value) { bind_value(statement_, value); });
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

#include "population/store/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

#include "engine/base/error.h"

namespace evo {
namespace embedded {

/// The step to each version: population/store/schema/NN.sql, in the order of their names. A change of the schema is a
/// new file, never an edit of a released one. NULL in a REAL column of a measurement stands for NaN.
extern const std::span<const std::string_view> schema;

}  // namespace embedded

namespace {

/// "evo1" in PRAGMA application_id identifies evo's databases (sqlite.org/fileformat2.html, offset 68).
constexpr std::int64_t kApplicationId = 0x65766f31;

std::int64_t version_of(Database& database) {
  const std::int64_t version = database.pragma("user_version");
  if (version > schema_version()) {
    throw usage_error(
        fmt::format("database {} was written by a newer evo (schema {}, this evo knows {}): update evo or "
                    "choose another --db",
                    database.path().string(), version, schema_version()));
  }
  return version;
}

bool is_empty(Database& database) {
  Statement statement = database.prepare("SELECT count(*) FROM sqlite_schema");
  return statement.next() && statement.integer(0) == 0;
}

void refuse_foreign(Database& database) {
  if (database.pragma("application_id") == kApplicationId) return;
  throw usage_error(fmt::format("{} is a database of another program: choose another --db", database.path().string()));
}

void apply(Database& database, int version);

/// Tables, indices, views and triggers by kind and name, with their SQL: without what ALTER TABLE of one version of
/// SQLite writes otherwise than that of another, blanks and quotes.
using Schema = std::map<std::string, std::string>;

Schema schema_of(Database& database) {
  Statement row = database.prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema");
  Schema schema;
  while (row.next()) {
    std::string sql = row.text(1);
    std::erase_if(sql, [](char c) { return c == '"' || c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
    schema[row.text(0)] = sql;
  }
  // What ANALYZE keeps for SQLite itself.
  for (const char* kept : {"table sqlite_stat1", "table sqlite_stat4"}) schema.erase(kept);
  return schema;
}

const Schema& exact_schema(int version) {
  static std::mutex mutex;
  static std::map<int, Schema> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(version); found != known.end()) return found->second;
  Database model(":memory:", Database::Access::create, 0);
  for (int next = 1; next <= version; ++next) apply(model, next);
  return known[version] = schema_of(model);
}

std::optional<std::string> difference(const Schema& found, const Schema& exact) {
  for (const auto& [name, sql] : exact)
    if (!found.contains(name)) return fmt::format("the {} is missing", name);
  for (const auto& [name, sql] : found) {
    const auto same = exact.find(name);
    if (same == exact.end()) return fmt::format("it has the {}, which evo has not", name);
    if (same->second != sql) return fmt::format("the {} is another one than evo's", name);
  }
  return std::nullopt;
}

/// Other tables and views than evo's would be read in their place, other triggers would run.
void require_exact_schema(Database& database) {
  if (const std::optional<std::string> what = schema_difference(database))
    throw usage_error(
        fmt::format("database {} was changed by something else than evo: {}; `evo db check --repair --db "
                    "{}` keeps what can be read",
                    database.path().string(), *what, database.path().string()));
}

void apply(Database& database, int version) {
  database.execute(std::string(embedded::schema[static_cast<std::size_t>(version) - 1]).c_str());
  database.execute(fmt::format("PRAGMA user_version = {}", version).c_str());
}

}  // namespace

int schema_version() {
  return static_cast<int>(embedded::schema.size());
}

void refuse_unknown(Database& database) {
  const ReadTransaction reading(database);
  if (is_empty(database)) return;
  refuse_foreign(database);
  require_exact_schema(database);
}

std::optional<std::string> schema_difference(Database& database) {
  return difference(schema_of(database), exact_schema(static_cast<int>(version_of(database))));
}

bool has_exact_table(Database& database, const std::string& table) {
  const std::string name = "table " + table;
  const Schema found = schema_of(database);
  const auto here = found.find(name);
  return here != found.end() && here->second == exact_schema(schema_version()).at(name);
}

void migrate(Database& database) {
  refuse_unknown(database);
  if (!is_empty(database) && version_of(database) == schema_version()) return;
  WriteTransaction transaction(database);
  // Asked again under the lock: another process may have done the work meanwhile.
  const bool fresh = is_empty(database);
  const int version = fresh ? 0 : static_cast<int>(version_of(database));
  if (fresh) database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  for (int next = version + 1; next <= schema_version(); ++next) apply(database, next);
  transaction.commit();
}

void refuse_empty(Database& database) {
  if (!is_empty(database)) return;
  throw usage_error(fmt::format("database {} is empty: fill it with `evo run --db {}` or choose another --db",
                                database.path().string(), database.path().string()));
}

void require_version(Database& database) {
  refuse_empty(database);
  refuse_foreign(database);
  const std::int64_t version = version_of(database);
  if (version < schema_version()) {
    throw usage_error(fmt::format(
        "database {} has schema {} of an older evo (this evo reads {}): `evo db compact --db {}` brings it up to date",
        database.path().string(), version, schema_version(), database.path().string()));
  }
}

void require_schema(Database& database) {
  const ReadTransaction reading(database);
  require_version(database);
  require_exact_schema(database);
}

}  // namespace evo

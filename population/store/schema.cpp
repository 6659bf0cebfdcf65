#include "population/store/schema.h"

#include <fmt/format.h>

#include <span>
#include <string>
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

void apply(Database& database, int version) {
  database.execute(std::string(embedded::schema[static_cast<std::size_t>(version) - 1]).c_str());
  database.execute(fmt::format("PRAGMA user_version = {}", version).c_str());
}

}  // namespace

int schema_version() {
  return static_cast<int>(embedded::schema.size());
}

void refuse_unknown(Database& database) {
  if (is_empty(database)) return;
  refuse_foreign(database);
  version_of(database);
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

void require_schema(Database& database) {
  refuse_empty(database);
  refuse_foreign(database);
  const std::int64_t version = version_of(database);
  if (version < schema_version()) {
    throw usage_error(fmt::format(
        "database {} has schema {} of an older evo (this evo reads {}): `evo db compact --db {}` brings it up to date",
        database.path().string(), version, schema_version(), database.path().string()));
  }
}

}  // namespace evo

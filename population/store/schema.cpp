#include "population/store/schema.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace evo {
namespace embedded {

extern const std::string_view schema_01, schema_02, schema_03, schema_04, schema_05, schema_06, schema_07, schema_08,
    schema_09, schema_10, schema_11, schema_12, schema_13, schema_14;

}  // namespace embedded

namespace {

/// "evo1" in PRAGMA application_id identifies evo's databases (sqlite.org/fileformat2.html, offset 68).
constexpr std::int64_t kApplicationId = 0x65766f31;

// The step to each version, in population/store/schema/; a change of the schema is a new file, never an edit of a
// released one. NULL in a REAL column of a measurement stands for NaN.
const std::array kMigrations = {&embedded::schema_01, &embedded::schema_02, &embedded::schema_03, &embedded::schema_04,
                                &embedded::schema_05, &embedded::schema_06, &embedded::schema_07, &embedded::schema_08,
                                &embedded::schema_09, &embedded::schema_10, &embedded::schema_11, &embedded::schema_12,
                                &embedded::schema_13, &embedded::schema_14};

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
  database.execute(std::string(*kMigrations.at(static_cast<std::size_t>(version) - 1)).c_str());
  database.execute(fmt::format("PRAGMA user_version = {}", version).c_str());
}

}  // namespace

int schema_version() {
  return static_cast<int>(kMigrations.size());
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

#pragma once

#include <optional>
#include <string>

#include "population/store/database.h"

namespace evo {

/// The version of the schema that this program reads and writes (PRAGMA user_version).
int schema_version();

/// Throws usage_error when the file belongs to another program or to a newer evo, or has other tables, views, indices
/// and triggers than its version; changes nothing.
void refuse_unknown(Database& database);

/// Brings an open database to this schema: a new one from nothing, an older one step by step, each step in
/// one transaction. Refuses what refuse_unknown does.
void migrate(Database& database);

/// What makes its schema another one than that of its version: "the table run is missing".
std::optional<std::string> schema_difference(Database& database);

/// Whether a table has the columns and constraints that it has in this schema.
bool has_exact_table(Database& database, const std::string& table);

/// Throws usage_error when nothing is in it.
void refuse_empty(Database& database);

/// Throws usage_error unless the database is evo's and says that it has this schema.
void require_version(Database& database);

/// Throws usage_error unless the database is evo's and has exactly this schema, with nothing in addition.
void require_schema(Database& database);

}  // namespace evo

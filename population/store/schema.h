#pragma once

#include "population/store/database.h"

namespace evo {

/// The version of the schema that this program reads and writes (PRAGMA user_version).
int schema_version();

/// Throws usage_error when the file belongs to another program or to a newer evo; changes nothing.
void refuse_unknown(Database& database);

/// Brings an open database to this schema: a new one from nothing, an older one step by step, each step in
/// one transaction. Refuses what refuse_unknown does.
void migrate(Database& database);

/// Throws usage_error when nothing is in it.
void refuse_empty(Database& database);

/// Throws usage_error unless the database is evo's and has exactly this schema.
void require_schema(Database& database);

}  // namespace evo

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "population/store/database.h"

namespace evo {

/// A row that cannot be read as what its table holds. Internal to population/store.
struct BadRow {
  std::string table;
  std::string key;       ///< The column that says whose row it is: "candidate", "id".
  std::int64_t owner{};  ///< Its value.
  std::string why;

  std::string text() const;  ///< "the program of candidate 5 cannot be read: ..."
};

/// Every row of an evo database that cannot be read, or whose text differs from its hash. Throws machine_error where
/// the file itself is damaged.
std::vector<BadRow> bad_rows(Database& database);

}  // namespace evo

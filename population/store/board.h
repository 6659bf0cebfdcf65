#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "population/store/database.h"
#include "population/store/elites.h"

/// The elites of a board as rows. Internal to population/store.
namespace evo {

bool is_valid(Database& database, std::int64_t candidate);
/// A valid candidate. Throws machine_error for another one.
Contender contender_of(Database& database, std::int64_t candidate);

std::vector<Contender> elites_of(Database& database, std::int64_t board);

/// Lets a valid candidate compete for the elites of a board.
void compete(Database& database, std::int64_t board, const Contender& challenger);
/// The same, but it displaces none.
void enter_free_place(Database& database, std::int64_t board, const Contender& challenger);

}  // namespace evo

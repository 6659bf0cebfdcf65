#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/search/seeds.h"
#include "engine/task/candidate.h"

namespace evo {

/// JSON forms of what the store and exported files keep. Readers throw usage_error in one line for anything
/// else.

/// {"D": 64, "out": "f16", "ping": true}
std::string bindings_to_json(const Bindings& bindings);
Bindings bindings_from_json(std::string_view json);

/// {"options": {...}, "timed": [{"name": "mission", "parameters": {"B": 1, ...}}], "validated": [...]}
std::string target_to_json(const Target& target);
Target target_from_json(std::string_view json);

/// [{"genome": {...}, "origin": "..."}, ...]
std::string seeds_to_json(const std::vector<Seed>& seeds);
std::vector<Seed> seeds_from_json(std::string_view json);

}  // namespace evo

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/expression/expression.h"

namespace evo {

/// A number, a boolean or a string.
nlohmann::ordered_json json_of(const Value& value);

}  // namespace evo

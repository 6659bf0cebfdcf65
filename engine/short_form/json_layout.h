#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evo {

/// JSON as people write it: what fits into a line stands in one, with blanks behind its colons and commas.
std::string laid_out(const nlohmann::ordered_json& json);

}  // namespace evo

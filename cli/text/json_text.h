#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evo::cli {

/// A document as --json prints it: indented, with a newline at its end. Stored text may hold any bytes (a
/// compiler's log): what is no UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace evo::cli

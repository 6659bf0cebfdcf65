#include "cli/text/json_text.h"

#include <nlohmann/json.hpp>

namespace evo::cli {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace evo::cli

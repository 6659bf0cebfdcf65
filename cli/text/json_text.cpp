#include "cli/text/json_text.h"

#include <nlohmann/json.hpp>

namespace evo::cli {

nlohmann::ordered_json json_document(const std::string& command) {
  return {{"evo", EVO_VERSION}, {"command", command}};
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace evo::cli

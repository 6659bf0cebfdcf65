#include "engine/expression/json_value.h"

#include <nlohmann/json.hpp>

namespace evo {

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit([](const auto& held) { return nlohmann::ordered_json(held); }, value);
}

}  // namespace evo

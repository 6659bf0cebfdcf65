#include "engine/short_form/json_layout.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLineWidth = 110;

std::string in_a_line(const Json& json) {
  if (!json.is_structured()) return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += text.empty() ? "" : ", ";
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += in_a_line(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string indented(const Json& json, std::size_t indent) {
  const std::string line = in_a_line(json);
  if (!json.is_structured() || json.empty() || (indent > 0 && indent + line.size() < kLineWidth)) return line;
  const std::string blanks(indent + 2, ' ');
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{}\n{}", text.empty() ? "" : ",", blanks);
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += indented(value, indent + 2);
  }
  text += "\n" + std::string(indent, ' ');
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

std::string laid_out(const Json& json) {
  return indented(json, 0);
}

}  // namespace evo

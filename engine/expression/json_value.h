#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "engine/expression/value.h"
#include "engine/record/record_json.h"

/// Values in JSON: numbers, booleans and strings. Included by sources alone.
namespace evo {

template <>
struct JsonForm<Value> {
  template <class Json>
  static Json write(const Value& value) {
    return std::visit([](const auto& held) { return Json(held); }, value);
  }
  template <class Json>
  static Value read(const Json& json, std::string_view name) {
    if (json.is_boolean()) return json.template get<bool>();
    if (json.is_number_integer()) return from_json<std::int64_t>(json, name);
    if (json.is_number_float()) return json.template get<double>();
    if (json.is_string()) return json.template get<std::string>();
    throw record_detail::not_a(name, "number, boolean or text");
  }
};

}  // namespace evo

#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>

#include "engine/base/number.h"
#include "engine/record/record_json.h"

/// How numbers travel: doubles bit for bit, so that no NaN and no zero changes. Included by sources alone.
namespace evo {

template <>
struct JsonForm<Number> {
  template <class Json>
  static Json write(const Number& number) {
    if (const double* real = std::get_if<double>(&number)) return {{"bits", std::bit_cast<std::uint64_t>(*real)}};
    return std::visit([](auto held) { return Json(held); }, number);
  }
  template <class Json>
  static Number read(const Json& json, std::string_view name) {
    if (json.is_object()) return std::bit_cast<double>(read_field<std::uint64_t>(json, "bits"));
    const bool large = json.is_number_unsigned() && json.template get<std::uint64_t>() > std::uint64_t{INT64_MAX};
    return large ? Number(json.template get<std::uint64_t>()) : Number(from_json<std::int64_t>(json, name));
  }
};

EVO_FIELDS(ValueType, element, components);

EVO_FIELDS(Scalar, type, components);

}  // namespace evo

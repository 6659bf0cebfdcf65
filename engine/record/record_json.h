#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/record/enumerators.h"
#include "engine/record/record.h"

/// Records as JSON or CBOR: an object of their fields; lists, maps from text and empty values (null, or no such field)
/// of what is a field itself; enumerations by their names. A number that is none (NaN) is null in JSON. Included by
/// sources alone: the JSON library is large.
namespace evo {

/// A text that is not the record it should be: a field that is missing or of another type, a number beyond its range.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How one type is written and read. A type with a form of its own specialises it.
template <class T>
struct JsonForm;

template <class Json, class T>
Json to_json(const T& value) {
  return JsonForm<T>::template write<Json>(value);
}

/// `name`: of the field, for messages.
template <class T, class Json>
T from_json(const Json& json, std::string_view name) {
  return JsonForm<T>::template read<Json>(json, name);
}

/// The field of an object. Throws RecordError when it is missing.
template <class Json>
const Json& field_of(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end()) throw RecordError(fmt::format("field {} is missing", name));
  return *found;
}

template <class T, class Json>
T read_field(const Json& object, std::string_view name) {
  if constexpr (kIsOptional<T>)
    if (!object.contains(name)) return std::nullopt;
  return from_json<T>(field_of(object, name), name);
}

namespace record_detail {

inline RecordError not_a(std::string_view name, std::string_view what) {
  return RecordError(fmt::format("field {} is no {}", name, what));
}

template <class Json, class Values>
Json list_of(const Values& values) {
  Json list = Json::array();
  for (const typename Values::value_type& value : values) list.push_back(to_json<Json>(value));
  return list;
}

}  // namespace record_detail

template <>
struct JsonForm<bool> {
  template <class Json>
  static Json write(bool value) {
    return value;
  }
  template <class Json>
  static bool read(const Json& json, std::string_view name) {
    if (!json.is_boolean()) throw record_detail::not_a(name, "boolean");
    return json.template get<bool>();
  }
};

/// nlohmann's get<T> cuts numbers to size; this refuses them.
template <std::integral T>
struct JsonForm<T> {
  template <class Json>
  static Json write(T value) {
    return value;
  }
  template <class Json>
  static T read(const Json& json, std::string_view name) {
    if (json.is_number_unsigned()) {
      const auto number = json.template get<std::uint64_t>();
      if (std::in_range<T>(number)) return static_cast<T>(number);
    } else if (json.is_number_integer()) {
      const auto number = json.template get<std::int64_t>();
      if (std::in_range<T>(number)) return static_cast<T>(number);
    }
    throw record_detail::not_a(name, "integer within its range");
  }
};

template <>
struct JsonForm<double> {
  template <class Json>
  static Json write(double value) {
    return value;
  }
  template <class Json>
  static double read(const Json& json, std::string_view name) {
    if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!json.is_number()) throw record_detail::not_a(name, "number");
    return json.template get<double>();
  }
};

template <>
struct JsonForm<std::string> {
  template <class Json>
  static Json write(const std::string& value) {
    return value;
  }
  template <class Json>
  static std::string read(const Json& json, std::string_view name) {
    if (!json.is_string()) throw record_detail::not_a(name, "text");
    return json.template get<std::string>();
  }
};

template <class T>
requires std::is_enum_v<T>
struct JsonForm<T> {
  template <class Json>
  static Json write(T value) {
    return std::string(enumerator_name(value));
  }
  template <class Json>
  static T read(const Json& json, std::string_view name) {
    const std::optional<T> value = enumerator_named<T>(from_json<std::string>(json, name));
    if (!value) throw RecordError(fmt::format("field {} has no such value", name));
    return *value;
  }
};

template <class T>
struct JsonForm<std::optional<T>> {
  template <class Json>
  static Json write(const std::optional<T>& value) {
    return value ? to_json<Json>(*value) : Json();
  }
  template <class Json>
  static std::optional<T> read(const Json& json, std::string_view name) {
    if (json.is_null()) return std::nullopt;
    return from_json<T>(json, name);
  }
};

template <class T>
struct JsonForm<std::vector<T>> {
  template <class Json>
  static Json write(const std::vector<T>& values) {
    return record_detail::list_of<Json>(values);
  }
  template <class Json>
  static std::vector<T> read(const Json& json, std::string_view name) {
    if (!json.is_array()) throw record_detail::not_a(name, "list");
    std::vector<T> values;
    for (const Json& value : json) values.push_back(from_json<T>(value, name));
    return values;
  }
};

template <class T, std::size_t Count>
struct JsonForm<std::array<T, Count>> {
  template <class Json>
  static Json write(const std::array<T, Count>& values) {
    return record_detail::list_of<Json>(values);
  }
  template <class Json>
  static std::array<T, Count> read(const Json& json, std::string_view name) {
    const auto values = from_json<std::vector<T>>(json, name);
    if (values.size() != Count) throw record_detail::not_a(name, fmt::format("list of {}", Count));
    std::array<T, Count> fixed{};
    std::copy(values.begin(), values.end(), fixed.begin());
    return fixed;
  }
};

template <class T, class Less>
struct JsonForm<std::map<std::string, T, Less>> {
  template <class Json>
  static Json write(const std::map<std::string, T, Less>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) object[key] = to_json<Json>(value);
    return object;
  }
  template <class Json>
  static std::map<std::string, T, Less> read(const Json& json, std::string_view name) {
    if (!json.is_object()) throw record_detail::not_a(name, "map");
    std::map<std::string, T, Less> values;
    for (const auto& [key, value] : json.items()) values.emplace(key, from_json<T>(value, name));
    return values;
  }
};

template <IsRecord T>
struct JsonForm<T> {
  template <class Json>
  static Json write(const T& record) {
    Json object = Json::object();
    for_each_field(record, [&](const char* name, const auto& value) { object[name] = to_json<Json>(value); });
    return object;
  }
  template <class Json>
  static T read(const Json& json, std::string_view name) {
    if (!json.is_object()) throw record_detail::not_a(name, "map");
    T record;
    for_each_field(record,
                   [&]<class Value>(const char* field, Value& value) { value = read_field<Value>(json, field); });
    return record;
  }
};

}  // namespace evo

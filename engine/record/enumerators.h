#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

/// The values of an enumeration and their names, as the compiler knows them: nobody has to keep a count, a last value
/// or a list of names up to date. For enumerations whose values are 0, 1, 2, ...
namespace evo {

namespace record_detail {

/// "evo::DType::u8"; GCC and Clang print a value that the enumeration lacks as a number behind its type:
/// "(evo::DType)17".
template <auto Value>
constexpr std::string_view value_text() {
  constexpr std::string_view kFunction = __PRETTY_FUNCTION__;
  constexpr std::string_view kAhead = "Value = ";
  constexpr std::size_t kAt = kFunction.find(kAhead);
  static_assert(kAt != std::string_view::npos, "the compiler's __PRETTY_FUNCTION__ names the value");
  const std::string_view text = kFunction.substr(kAt + kAhead.size());
  return text.substr(0, text.find_first_of(";]"));
}

template <auto Value>
constexpr bool is_enumerator() {
  constexpr char kFirst = value_text<Value>().front();
  return kFirst != '(' && kFirst != '-' && (kFirst < '0' || kFirst > '9');
}

template <class Enum, std::size_t Count = 0>
constexpr std::size_t count_enumerators() {
  if constexpr (is_enumerator<static_cast<Enum>(Count)>())
    return count_enumerators<Enum, Count + 1>();
  else
    return Count;
}

template <auto Value>
constexpr std::string_view value_name() {
  constexpr std::string_view kText = value_text<Value>();
  return kText.substr(kText.rfind(':') + 1);
}

}  // namespace record_detail

template <class Enum>
requires std::is_enum_v<Enum>
inline constexpr std::size_t kEnumerators = record_detail::count_enumerators<Enum>();

/// "u8", "s8", ...
template <class Enum>
inline constexpr auto kEnumeratorNames = []<std::size_t... Is>(std::index_sequence<Is...>) {
  return std::array<std::string_view, sizeof...(Is)>{record_detail::value_name<static_cast<Enum>(Is)>()...};
}
(std::make_index_sequence<kEnumerators<Enum>>{});

template <class Enum>
constexpr std::string_view enumerator_name(Enum value) {
  return kEnumeratorNames<Enum>.at(static_cast<std::size_t>(value));
}

/// Empty for a name that no value has.
template <class Enum>
constexpr std::optional<Enum> enumerator_named(std::string_view name) {
  for (std::size_t i = 0; i < kEnumerators<Enum>; ++i)
    if (kEnumeratorNames<Enum>[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

/// Whether a table has a row for each value, in their order: `value` is what the row is of. For a static_assert.
template <class Row, class Enum, std::size_t Count>
constexpr bool has_row_for_each(const std::array<Row, Count>& table, Enum Row::*value) {
  for (std::size_t i = 0; i < Count; ++i)
    if (table[i].*value != static_cast<Enum>(i)) return false;
  return Count == kEnumerators<Enum>;
}

}  // namespace evo

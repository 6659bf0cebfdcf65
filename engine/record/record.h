#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

/// Records: structs whose fields are listed once, beside the struct. The wire between processes (CBOR), the columns of
/// the database and JSON follow from the list, so a new field is written in the struct's header alone, and, where it is
/// stored, in a migration of population/store/schema.cpp:
///
///     struct RanOn { std::string device; std::string uuid; };
///     template <>
///     inline constexpr auto kFields<RanOn> = std::tuple(Field{"device", &RanOn::device}, Field{"uuid", &RanOn::uuid});
///     static_assert(lists_all_fields<RanOn>());
namespace evo {

/// A field and its name in all forms. A record that stands in another under the empty name lends it its fields: they
/// appear beside those of the outer one.
template <class Record, class Value>
struct Field {
  const char* name;
  Value Record::*member;

  constexpr bool is_inlined() const { return *name == '\0'; }
};

template <class Record, class Value>
Field(const char*, Value Record::*) -> Field<Record, Value>;

/// Specialised for each record: a tuple of its fields.
template <class Record>
inline constexpr auto kFields = nullptr;

template <class T>
concept IsRecord = !std::same_as<std::remove_cv_t<decltype(kFields<T>)>, std::nullptr_t>;

/// Calls `visit` with the name and the value of each field, in their order; also with those of inlined records.
template <class Record, class Visit>
void for_each_field(Record& record, Visit&& visit) {
  const auto one = [&](const auto& field) {
    if constexpr (IsRecord<std::remove_cvref_t<decltype(record.*field.member)>>) {
      if (field.is_inlined()) return for_each_field(record.*field.member, visit);
    }
    visit(field.name, record.*field.member);
  };
  std::apply([&](const auto&... fields) { (one(fields), ...); }, kFields<std::remove_const_t<Record>>);
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

namespace record_detail {

/// Stands for any member when a struct is initialised.
struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT: converts to all, and is never called
};

template <class T, std::size_t... Is>
constexpr bool takes(std::index_sequence<Is...>) {
  return requires {
    T{((void)Is, AnyMember{})...};
  };
}

template <class T, std::size_t Count = 0>
constexpr std::size_t count_members() {
  if constexpr (takes<T>(std::make_index_sequence<Count + 1>{}))
    return count_members<T, Count + 1>();
  else
    return Count;
}

}  // namespace record_detail

/// Whether each member of the struct, which is an aggregate, has its field.
template <IsRecord Record>
constexpr bool lists_all_fields() {
  return record_detail::count_members<Record>() == std::tuple_size_v<std::remove_cvref_t<decltype(kFields<Record>)>>;
}

}  // namespace evo

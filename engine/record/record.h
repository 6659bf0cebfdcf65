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
///     EVO_RECORD(RanOn, device, uuid);
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

/// Specialised for each record: a tuple of its fields. By EVO_RECORD, but where a field has another name than its
/// member, or none.
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

// For a list's macro to name itself, it is looked at again and again: EVO_LOOK_AGAIN does it often enough for 80
// members.
#define EVO_NOTHING ()
#define EVO_LOOK_AGAIN(...) EVO_LOOK_3(EVO_LOOK_3(EVO_LOOK_3(EVO_LOOK_3(__VA_ARGS__))))
#define EVO_LOOK_3(...) EVO_LOOK_2(EVO_LOOK_2(EVO_LOOK_2(EVO_LOOK_2(__VA_ARGS__))))
#define EVO_LOOK_2(...) EVO_LOOK_1(EVO_LOOK_1(EVO_LOOK_1(EVO_LOOK_1(__VA_ARGS__))))
#define EVO_LOOK_1(...) __VA_ARGS__
#define EVO_MEMBERS(record, member, ...) \
  Field{#member, &record::member} __VA_OPT__(, EVO_MEMBERS_AGAIN EVO_NOTHING(record, __VA_ARGS__))
#define EVO_MEMBERS_AGAIN() EVO_MEMBERS

/// The fields of a record, which are called as its members. In namespace evo.
#define EVO_FIELDS(record, ...) \
  template <>                   \
  inline constexpr auto kFields<record> = std::tuple(EVO_LOOK_AGAIN(EVO_MEMBERS(record, __VA_ARGS__)))

/// The same of a record whose members are all fields. A member that is not listed is an error.
#define EVO_RECORD(record, ...)    \
  EVO_FIELDS(record, __VA_ARGS__); \
  static_assert(lists_all_fields<record>())

}  // namespace evo

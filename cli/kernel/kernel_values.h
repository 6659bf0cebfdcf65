#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The element types that arguments of a user's kernel have, and their values.
namespace evo::cli {

/// Element types of arguments. f8: e4m3 and e5m2.
enum class Element { boolean, s8, u8, s16, u16, s32, u32, s64, u64, f16, bf16, f32, f64, e4m3, e5m2 };

std::size_t size_of(Element element);
bool is_floating(Element element);
/// As CUDA C++ calls it: "float", "unsigned short", "half".
std::string_view name_of(Element element);

/// One value. Integers from 2^63 on are unsigned.
using Number = std::variant<std::int64_t, std::uint64_t, double>;
double as_double(Number number);
/// The number itself: a long double also holds every integer of 64 bits.
long double exact(Number number);
/// Why an element cannot be this number: "char holds whole numbers from -128 to 127, not 300". Empty when it can, if
/// rounded.
std::string why_not_held(Element element, Number number);
/// Rounded to nearest, or saturated where the format has no infinity; an integer must be held as it is.
void store(Element element, Number value, std::byte* to);
Number load(Element element, const std::byte* from);
/// "3.25", "-7", "nan".
std::string text_of(Element element, const std::byte* from);

/// A type as written: an element, perhaps a vector of them ("float4").
struct ValueType {
  Element element = Element::f32;
  std::size_t components = 1;
  std::size_t bytes() const { return size_of(element) * components; }
  std::string name() const;
};

/// Throws nothing: empty for a name that is no type.
std::optional<ValueType> type_named(std::string_view name);
/// The names of all elements, for messages.
std::vector<std::string> element_names();

}  // namespace evo::cli

#pragma once

#include <charconv>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace evo {

/// The text without blanks, tabs and carriage returns at both ends.
std::string_view trim(std::string_view text);

/// Letters of ASCII as capitals.
std::string upper(std::string_view text);

/// The parts between separators; an empty text has one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// The trimmed parts between separators that stand in no bracket and no string.
std::vector<std::string_view> split_outside_brackets(std::string_view text, std::string_view separator);

/// What `text` makes of each item, with the separator between them.
template <class Items, class Text = std::identity>
std::string joined(const Items& items, std::string_view separator, const Text& text = {}) {
  std::string all, between;
  for (const auto& item : items) {
    all += between;
    all += std::invoke(text, item);
    between = separator;
  }
  return all;
}

/// "a, b, c"; "none" for an empty list.
std::string list_of(const std::vector<std::string>& names);

/// "; did you mean 'smem_per_block'?" when a name is close to the wrong one, else "; there are a, b, c".
std::string suggestion(std::string_view wrong, const std::vector<std::string>& names);

/// Letters, digits and '_', not starting with a digit.
bool is_identifier(std::string_view text);

/// A letter, a digit or '_'.
bool is_identifier_character(char c);

/// A function's name in C++: "scale", "ns::scale", "reduce<float, 256>".
bool is_kernel_name(std::string_view text);

/// The whole text as a number; empty when it is anything else or does not fit the type.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
/// A whole number in another base, without a prefix such as "0x".
template <std::integral T>
std::optional<T> number_in(std::string_view text, int base) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace evo

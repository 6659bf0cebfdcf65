#include "cli/kernel/parameter_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

constexpr std::size_t kPointerBytes = 8;

/// A parameter's type as far as it is known.
struct Parameter {
  std::string text;  ///< "float", "unsigned int", "Item"; empty: unknown.
  bool is_pointer = false;
  bool is_integer = false;         ///< Or a pointer.
  std::optional<ValueType> value;  ///< Of a scalar or vector.
  std::size_t bytes = 0;
};

/// The type that a demangled name calls so.
std::optional<ValueType> type_in_cpp(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNames = {{{"unsigned int", "unsigned"},
                                                                                    {"unsigned long", "ulong"},
                                                                                    {"unsigned long long", "ulong"},
                                                                                    {"long long", "long"},
                                                                                    {"unsigned short", "ushort"},
                                                                                    {"unsigned char", "uchar"},
                                                                                    {"signed char", "char"},
                                                                                    {"__half", "half"},
                                                                                    {"__half2", "half2"}}};
  for (const auto& [cpp, ours] : kNames)
    if (cpp == name) return type_named(ours);
  return type_named(name);
}

Parameter parameter_of(const vgpu::DeclaredParameter& declared, const std::string& cpp_type) {
  Parameter parameter;
  parameter.bytes = declared.bytes;
  if (!cpp_type.empty()) {
    parameter.text = cpp_type;
    parameter.is_pointer = cpp_type.ends_with('*') || cpp_type.ends_with('&');
    if (!parameter.is_pointer) parameter.value = type_in_cpp(cpp_type);
    // A class may have the name of one of our types.
    if (parameter.value && parameter.value->bytes() != declared.bytes) parameter.value.reset();
  } else if (declared.type == "f32" || declared.type == "f64") {
    parameter.text = declared.type == "f32" ? "float" : "double";
    parameter.value = type_named(parameter.text);
  } else if (std::string_view("us").find(declared.type.front()) != std::string_view::npos) {
    parameter.is_integer = true;
    parameter.text = fmt::format("an integer{} of {} byte{}", declared.bytes == kPointerBytes ? " or a pointer" : "",
                                 declared.bytes, declared.bytes == 1 ? "" : "s");
  }
  return parameter;
}

/// The type that an argument such as "int:5" begins with; nothing for a struct.
std::optional<ValueType> type_given(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (text.starts_with('{') || text.starts_with("bytes:") || colon == std::string::npos) return std::nullopt;
  return type_named(trim(std::string_view(text).substr(0, colon)));
}

bool same_kind(const ValueType& a, const ValueType& b) {
  if (a.components != b.components || a.bytes() != b.bytes()) return false;
  return is_floating(a.element) || is_floating(b.element) ? a.element == b.element : true;
}

bool takes_address(const Parameter& parameter) {
  return parameter.bytes == kPointerBytes &&
         (parameter.is_pointer || !parameter.value || !is_floating(parameter.value->element));
}

std::string bytes_text(std::size_t bytes) {
  return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
}

/// What an argument is, in words, where it does not fit; else empty.
std::string misfit(const Parameter& parameter, const ArgumentSpec& argument) {
  const auto* value = std::get_if<ByValue>(&argument);
  if (value == nullptr) {
    if (takes_address(parameter)) return "";
    if (const auto* spec = std::get_if<BufferSpec>(&argument)) return fmt::format("the buffer '{}'", spec->name);
    const std::string& name = std::get<BufferReference>(argument).name;
    return name.empty() ? "a null pointer" : fmt::format("the buffer '{}'", name);
  }
  const std::optional<ValueType> given = type_given(value->text);
  if (given) {
    const bool address = parameter.is_pointer && !is_floating(given->element) && given->components == 1;
    const bool fits = given->bytes() == parameter.bytes && (!parameter.is_pointer || address);
    const bool kind = !parameter.is_integer || !is_floating(given->element);
    if (fits && kind && (!parameter.value || same_kind(*parameter.value, *given))) return "";
    return fmt::format("{} ('{}')", given->name(), value->text);
  }
  if (value->bytes.size() == parameter.bytes && !parameter.is_pointer) return "";
  return fmt::format("{} ('{}')", bytes_text(value->bytes.size()), value->text);
}

std::string describe(const Parameter& parameter) {
  if (parameter.text.empty()) return bytes_text(parameter.bytes);
  if (parameter.is_pointer || parameter.is_integer || parameter.value) return parameter.text;
  return fmt::format("{} ({})", parameter.text, bytes_text(parameter.bytes));
}

}  // namespace

std::vector<std::string> parameter_types(const std::string& demangled) {
  // The list begins at the last bracket that is opened outside of all others.
  if (!demangled.ends_with(')')) return {};
  std::size_t begin = demangled.size();
  for (int depth = 0; begin-- > 0;) {
    if (demangled[begin] == ')') ++depth;
    if (demangled[begin] == '(' && --depth == 0) break;
  }
  std::vector<std::string> types;
  std::string type;
  int depth = 0;
  for (const char c : std::string_view(demangled).substr(begin + 1, demangled.size() - begin - 2)) {
    if (std::string_view("(<[{").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(")>]}").find(c) != std::string_view::npos) --depth;
    if (c == ',' && depth == 0) {
      types.emplace_back(trim(type));
      type.clear();
    } else {
      type += c;
    }
  }
  if (!trim(type).empty()) types.emplace_back(trim(type));
  return types;
}

void check_arguments(const std::string& kernel, const std::string& ptx_name,
                     std::span<const vgpu::DeclaredParameter> parameters, std::span<const ArgumentSpec> arguments) {
  std::vector<std::string> types = parameter_types(demangled(ptx_name));
  if (parameters.size() != arguments.size()) {
    throw usage_error(fmt::format("--arg: {} takes {} arguments{}, {} were given", kernel, parameters.size(),
                                  types.empty() ? "" : fmt::format(" ({})", fmt::join(types, ", ")), arguments.size()));
  }
  types.resize(types.size() == parameters.size() ? types.size() : 0);
  types.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter parameter = parameter_of(parameters[i], types[i]);
    const std::string given = misfit(parameter, arguments[i]);
    if (!given.empty())
      throw usage_error(
          fmt::format("--arg: argument {} of {} is {}, {} was given", i + 1, kernel, describe(parameter), given));
  }
}

}  // namespace evo::cli

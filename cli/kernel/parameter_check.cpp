#include "cli/kernel/parameter_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <utility>

#include "engine/base/demangled.h"
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

bool same_kind(const ValueType& a, const ValueType& b) {
  if (a.components != b.components || a.bytes() != b.bytes()) return false;
  return is_floating(a.element) || is_floating(b.element) ? a.element == b.element : true;
}

bool takes_address(const Parameter& parameter) {
  return parameter.bytes == kPointerBytes &&
         (parameter.is_pointer || !parameter.value || !is_floating(parameter.value->element));
}

bool points_elsewhere(const Parameter& parameter, const std::optional<DType>& elements) {
  if (!elements || !is_floating(*elements) || !parameter.is_pointer) return false;
  std::string_view pointee = parameter.text;
  pointee.remove_suffix(1);
  constexpr std::string_view kConst = " const";
  if (pointee.ends_with(kConst)) pointee.remove_suffix(kConst.size());
  const std::optional<ValueType> type = type_in_cpp(pointee);
  return type && type->components == 1 && is_floating(type->element) && type->element != *elements;
}

bool fits(const Parameter& parameter, const GivenArgument& given) {
  if (given.address) return takes_address(parameter) && !points_elsewhere(parameter, given.elements);
  if (given.bytes != parameter.bytes) return false;
  if (!given.type) return !parameter.is_pointer;
  const bool whole = !is_floating(given.type->element);
  if (parameter.is_pointer) return whole && given.type->components == 1;
  if (parameter.is_integer && !whole) return false;
  return !parameter.value || same_kind(*parameter.value, *given.type);
}

std::string bytes_text(std::size_t bytes) {
  return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
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

std::string wrong_number(const std::string& kernel, const std::string& ptx_name, std::size_t taken, std::size_t given) {
  if (taken == given) return {};
  const std::vector<std::string> types = parameter_types(demangled(ptx_name));
  return fmt::format("{} takes {} argument{}{}, {} {} given", kernel, taken, taken == 1 ? "" : "s",
                     types.empty() ? "" : fmt::format(" ({})", fmt::join(types, ", ")), given,
                     given == 1 ? "is" : "are");
}

std::vector<Misfit> misfits(const std::string& ptx_name, std::span<const vgpu::DeclaredParameter> parameters,
                            std::span<const GivenArgument> given) {
  std::vector<std::string> types = parameter_types(demangled(ptx_name));
  if (types.size() != parameters.size()) types.assign(parameters.size(), "");
  std::vector<Misfit> found;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter parameter = parameter_of(parameters[i], types[i]);
    if (!fits(parameter, given[i])) found.push_back({i, describe(parameter), given[i].text});
  }
  return found;
}

}  // namespace evo::cli

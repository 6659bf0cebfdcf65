#include "cli/kernel/kernel_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/numbers/elements.h"

namespace evo::cli {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw usage_error(fmt::format("--arg '{}': {}; see evo vgpu --help", text, why));
}

Number parse_value(std::string_view argument, std::string_view text) {
  const std::string copy(trim(text));
  if (copy == "true") return std::int64_t{1};
  if (copy == "false") return std::int64_t{0};
  const bool hex = copy.find("0x") != std::string::npos && copy.find_first_of("pP.") == std::string::npos;
  if (hex || copy.find_first_not_of("+-0123456789") == std::string::npos) {
    const bool negative = copy.starts_with('-');
    std::string_view digits = std::string_view(copy).substr(negative || copy.starts_with('+') ? 1 : 0);
    if (hex && digits.starts_with("0x")) digits.remove_prefix(2);
    const auto value = number_in<std::uint64_t>(digits, hex ? 16 : 10);
    constexpr std::uint64_t kMostNegative = std::uint64_t{1} << 63;
    if (!value || (negative && *value > kMostNegative))
      refuse(argument, fmt::format("'{}' is no number of 64 bits", copy));
    if (negative) return static_cast<std::int64_t>(0 - *value);
    if (*value >= kMostNegative) return *value;
    return static_cast<std::int64_t>(*value);
  }
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') refuse(argument, fmt::format("'{}' is no number", copy));
  if (std::isinf(value) && copy.find_first_of("0123456789") != std::string::npos)
    refuse(argument, fmt::format("'{}' is no number of 64 bits", copy));
  return value;
}

std::vector<Number> parse_values(std::string_view argument, std::string_view text) {
  std::vector<Number> numbers;
  for (const std::string& part : split(text, ',')) numbers.push_back(parse_value(argument, part));
  return numbers;
}

ValueType known_type(std::string_view argument, std::string_view name) {
  if (const auto type = type_named(name)) return *type;
  refuse(argument, fmt::format("'{}' is no type{}", name, suggestion(name, type_names())));
}

Scalar parse_scalar(std::string_view argument, std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse(argument, fmt::format("'{}' is not TYPE:VALUE", text));
  Scalar scalar{known_type(argument, trim(text.substr(0, colon))), parse_values(argument, text.substr(colon + 1))};
  if (bits_of(scalar.type.element) < 8) refuse(argument, "two e2m1 share a byte: give them as uchar");
  if (scalar.components.size() != scalar.type.components) {
    refuse(argument, fmt::format("{} has {} values, {} were given", scalar.type.name(), scalar.type.components,
                                 scalar.components.size()));
  }
  for (const Number number : scalar.components) {
    if (const std::string why = why_not_held(scalar.type.element, number); !why.empty()) refuse(argument, why);
  }
  return scalar;
}

std::vector<std::byte> parse_bytes(std::string_view argument, std::string_view text) {
  std::vector<std::byte> bytes;
  if (text.starts_with('@')) {
    const std::string content = read_file(std::string(text.substr(1)), 64 * 1024);
    bytes.resize(content.size());
    std::memcpy(bytes.data(), content.data(), content.size());
    return bytes;
  }
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto value = number_in<unsigned>(text.substr(i, 2), 16);
    if (!value || i + 2 > text.size()) refuse(argument, "bytes are pairs of hexadecimal digits");
    bytes.push_back(static_cast<std::byte>(*value));
  }
  return bytes;
}

Filling parse_filling(std::string_view argument, std::string_view text, bool floating) {
  if (text.starts_with('@')) return {DrawKind::file, {}, std::string(text.substr(1))};
  if (text.starts_with('{') && text.ends_with('}'))
    return {DrawKind::list, parse_values(argument, text.substr(1, text.size() - 2)), {}};
  const std::size_t bracket = text.find('(');
  const std::string_view name = text.substr(0, bracket);
  std::vector<Number> given;
  if (bracket != std::string_view::npos) {
    if (!text.ends_with(')')) refuse(argument, "a bracket is not closed");
    given = parse_values(argument, text.substr(bracket + 1, text.size() - bracket - 2));
  }
  const auto with = [&](DrawKind kind, std::vector<Number> usual) -> Filling {
    if (given.size() > usual.size()) refuse(argument, fmt::format("{} takes {} numbers", name, usual.size()));
    std::ranges::copy(given, usual.begin());
    return {kind, usual, {}};
  };
  if (name == "zeros") return with(DrawKind::constant, {});
  if (name == "ones") return with(DrawKind::constant, {std::int64_t{1}});
  if (name == "unset") return with(DrawKind::unset, {});
  if (name == "iota") return with(DrawKind::iota, {std::int64_t{0}, std::int64_t{1}});
  if (name == "uniform") return with(DrawKind::uniform, {std::int64_t{0}, std::int64_t{floating ? 1 : 100}});
  if (name == "normal") return with(DrawKind::normal, {std::int64_t{0}, std::int64_t{1}});
  if (name == "shuffle") return with(DrawKind::shuffle, {});
  if (name == "bits") return with(DrawKind::bits, {});
  const std::vector<std::string_view> draws = {"integers", "indices",    "permutation",
                                               "offsets",  "page_table", "non_negative"};
  if (std::ranges::find(draws, name) != draws.end()) {
    const Draw draw = parse_draw(text, floating);
    return {draw.kind, evaluate(draw, {}), {}};
  }
  if (text.find_first_of("0123456789") == std::string_view::npos && text != "nan" && text != "inf" && text != "-inf") {
    refuse(argument,
           fmt::format(
               "'{}' is no filling: there are zeros, ones, unset, iota, uniform, normal, shuffle, "
               "bits, integers, indices, permutation, offsets, page_table, non_negative, a number, {{list}} and @FILE",
               text));
  }
  return {DrawKind::constant, {parse_value(argument, text)}, {}};
}

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;

std::vector<std::uint64_t> parse_dims(std::string_view argument, std::string_view text) {
  std::vector<std::uint64_t> dims;
  if (text.empty()) return dims;
  std::uint64_t product = 1;
  for (const std::string& part : split(text, ',')) {
    const Number number = parse_value(argument, part);
    const auto* dim = std::get_if<std::int64_t>(&number);
    if (dim == nullptr || *dim < 0 || static_cast<std::uint64_t>(*dim) > kMostElements)
      refuse(argument, fmt::format("'{}' is no number of elements", part));
    dims.push_back(static_cast<std::uint64_t>(*dim));
    const std::uint64_t factor = std::max<std::uint64_t>(dims.back(), 1);
    if (factor > kMostElements / product) refuse(argument, "too many elements");
    product *= factor;
  }
  return dims;
}

/// A buffer, the name of one, or null. Nothing for something else.
std::optional<Pointer> parse_pointer(std::string_view whole, const std::string& usual_name) {
  if (whole == "null" || whole == "nullptr") return BufferReference{};
  const std::size_t bracket = whole.find('[');
  const std::size_t colon = whole.find(':');
  if (colon == std::string_view::npos && is_identifier(whole)) return BufferReference{std::string(whole)};
  if (bracket == std::string_view::npos || bracket >= colon) return std::nullopt;
  BufferSpec buffer;
  const std::size_t equals = whole.substr(0, bracket).find('=');
  const bool named = equals != std::string_view::npos;
  buffer.name = named ? std::string(trim(whole.substr(0, equals))) : usual_name;
  if (!is_identifier(buffer.name)) refuse(whole, fmt::format("'{}' is no name", buffer.name));
  const std::size_t type_at = named ? equals + 1 : 0;
  buffer.type = known_type(whole, trim(whole.substr(type_at, bracket - type_at)));
  const std::size_t close = whole.find(']', bracket);
  if (close == std::string_view::npos) refuse(whole, "a bracket is not closed");
  buffer.dims = parse_dims(whole, whole.substr(bracket + 1, close - bracket - 1));
  const std::string_view rest = whole.substr(close + 1);
  if (!rest.empty() && !rest.starts_with(':')) refuse(whole, "expected ':' behind ']'");
  buffer.filling =
      rest.empty() ? Filling{} : parse_filling(whole, trim(rest.substr(1)), is_floating(buffer.type.element));
  if (buffer.dims.empty() && buffer.filling.kind != DrawKind::file) refuse(whole, "how many elements?");
  return buffer;
}

ByValue parse_struct(std::string_view argument, std::size_t number) {
  ByValue value{std::string(argument), {}};
  std::vector<Scalar> fields;
  std::size_t end = 0;
  for (const std::string& field : split(argument.substr(1, argument.size() - 2), ';')) {
    std::optional<Pointer> pointer = parse_pointer(trim(field), fmt::format("arg{}_{}", number, fields.size()));
    fields.push_back(pointer ? Scalar{{DType::u64}, {std::int64_t{0}}} : parse_scalar(argument, field));
    const ValueType& type = fields.back().type;
    const std::size_t begin = (end + type.alignment() - 1) / type.alignment() * type.alignment();
    if (pointer) value.pointers.emplace_back(begin, *std::move(pointer));
    end = begin + type.bytes();
  }
  value.bytes = bytes_of(fields);
  return value;
}

}  // namespace

std::vector<BufferSpec> buffers_of(const ArgumentSpec& argument) {
  if (const auto* buffer = std::get_if<BufferSpec>(&argument)) return {*buffer};
  std::vector<BufferSpec> buffers;
  if (const auto* value = std::get_if<ByValue>(&argument)) {
    for (const auto& [begin, pointer] : value->pointers)
      if (const auto* buffer = std::get_if<BufferSpec>(&pointer)) buffers.push_back(*buffer);
  }
  return buffers;
}

ArgumentSpec parse_argument(std::string_view text, std::size_t number) {
  const std::string_view whole = trim(text);
  if (whole.empty()) refuse(text, "nothing is given");
  if (whole.starts_with('{') && whole.ends_with('}')) return parse_struct(whole, number);
  if (whole.starts_with("bytes:")) return ByValue{std::string(whole), parse_bytes(whole, whole.substr(6))};
  if (const auto pointer = parse_pointer(whole, fmt::format("arg{}", number)))
    return std::visit([](const auto& one) -> ArgumentSpec { return one; }, *pointer);
  return ByValue{std::string(whole), bytes_of({parse_scalar(whole, whole)})};
}

}  // namespace evo::cli

#include "cli/commands/kernel_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/numbers/float_formats.h"

namespace evo::cli {
namespace {

struct ElementInfo {
  Element element;
  std::size_t bytes;
  bool floating;
  std::string_view name;
  std::string_view other_names;  ///< Between blanks.
  long double least, greatest;   ///< Of what is finite.
};

constexpr std::array kElements = {
    ElementInfo{Element::boolean, 1, false, "bool", "", 0, 1},
    ElementInfo{Element::s8, 1, false, "char", " s8 int8 int8_t schar ", INT8_MIN, INT8_MAX},
    ElementInfo{Element::u8, 1, false, "unsigned char", " uchar u8 uint8 uint8_t byte ", 0, UINT8_MAX},
    ElementInfo{Element::s16, 2, false, "short", " s16 int16 int16_t ", INT16_MIN, INT16_MAX},
    ElementInfo{Element::u16, 2, false, "unsigned short", " ushort u16 uint16 uint16_t ", 0, UINT16_MAX},
    ElementInfo{Element::s32, 4, false, "int", " s32 int32 int32_t ", INT32_MIN, INT32_MAX},
    ElementInfo{Element::u32, 4, false, "unsigned", " uint u32 uint32 uint32_t ", 0, UINT32_MAX},
    ElementInfo{Element::s64, 8, false, "long long", " long longlong s64 int64 int64_t ptrdiff_t ", INT64_MIN,
                INT64_MAX},
    ElementInfo{Element::u64, 8, false, "unsigned long long", " ulong ulonglong u64 uint64 uint64_t size_t ", 0,
                UINT64_MAX},
    ElementInfo{Element::f16, 2, true, "half", " f16 fp16 float16 __half ", -65504, 65504},
    ElementInfo{Element::bf16, 2, true, "bf16", " bfloat16 __nv_bfloat16 ", -0x1.fep127L, 0x1.fep127L},
    ElementInfo{Element::f32, 4, true, "float", " f32 fp32 float32 ", -FLT_MAX, FLT_MAX},
    ElementInfo{Element::f64, 8, true, "double", " f64 fp64 float64 ", -DBL_MAX, DBL_MAX},
    ElementInfo{Element::e4m3, 1, true, "e4m3", " fp8_e4m3 __nv_fp8_e4m3 ", -448, 448},
    ElementInfo{Element::e5m2, 1, true, "e5m2", " fp8_e5m2 __nv_fp8_e5m2 ", -57344, 57344},
};

const ElementInfo& info(Element element) {
  return kElements.at(static_cast<std::size_t>(element));
}

std::optional<Element> element_named(std::string_view name) {
  for (const ElementInfo& entry : kElements) {
    const std::string padded = fmt::format(" {} ", name);
    if (entry.name == name || entry.other_names.find(padded) != std::string_view::npos) return entry.element;
  }
  return std::nullopt;
}

std::string text_of(Number number) {
  return std::visit([](auto held) { return fmt::format("{}", held); }, number);
}

/// Of a whole number that 64 bits hold, signed or unsigned.
std::uint64_t bits_of(Number number) {
  const long double value = exact(number);
  return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value);
}

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void write_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// ---- Parsing

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw usage_error(fmt::format("--arg '{}': {}; see evo vgpu --help", text, why));
}

Number parse_number(std::string_view argument, std::string_view text) {
  const std::string copy(trim(text));
  if (copy == "true") return std::int64_t{1};
  if (copy == "false") return std::int64_t{0};
  const bool hex = copy.find("0x") != std::string::npos && copy.find_first_of("pP.") == std::string::npos;
  if (hex || copy.find_first_not_of("+-0123456789") == std::string::npos) {
    const bool negative = copy.starts_with('-');
    std::string_view digits = std::string_view(copy).substr(negative || copy.starts_with('+') ? 1 : 0);
    if (hex && digits.starts_with("0x")) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    constexpr std::uint64_t kMostNegative = std::uint64_t{1} << 63;
    if (error != std::errc() || end != digits.data() + digits.size() || (negative && value > kMostNegative))
      refuse(argument, fmt::format("'{}' is no number of 64 bits", copy));
    if (negative) return static_cast<std::int64_t>(0 - value);
    if (value >= kMostNegative) return value;
    return static_cast<std::int64_t>(value);
  }
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') refuse(argument, fmt::format("'{}' is no number", copy));
  if (std::isinf(value) && copy.find_first_of("0123456789") != std::string::npos)
    refuse(argument, fmt::format("'{}' is no number of 64 bits", copy));
  return value;
}

std::vector<Number> parse_numbers(std::string_view argument, std::string_view text) {
  std::vector<Number> numbers;
  for (const std::string& part : split(text, ',')) numbers.push_back(parse_number(argument, part));
  return numbers;
}

std::optional<ValueType> parse_type(std::string_view name) {
  if (const auto element = element_named(name)) return ValueType{*element, 1};
  if (name.size() < 2 || name.back() < '2' || name.back() > '4') return std::nullopt;
  const auto element = element_named(name.substr(0, name.size() - 1));
  if (!element) return std::nullopt;
  return ValueType{*element, static_cast<std::size_t>(name.back() - '0')};
}

ValueType known_type(std::string_view argument, std::string_view name) {
  if (const auto type = parse_type(name)) return *type;
  std::vector<std::string> names;
  for (const ElementInfo& entry : kElements) names.emplace_back(entry.name);
  refuse(argument, fmt::format("'{}' is no type{}", name, suggestion(name, names)));
}

/// CUDA aligns vectors of 2 and 4 to their size, at most 16 bytes; those of 3 to an element.
std::size_t alignment_of(const ValueType& type) {
  return type.components == 3 ? size_of(type.element) : std::min<std::size_t>(type.bytes(), 16);
}

std::vector<std::byte> parse_scalar(std::string_view argument, std::string_view text, std::size_t& alignment) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse(argument, fmt::format("'{}' is not TYPE:VALUE", text));
  const ValueType type = known_type(argument, trim(text.substr(0, colon)));
  const std::vector<Number> numbers = parse_numbers(argument, text.substr(colon + 1));
  if (numbers.size() != type.components) {
    refuse(argument, fmt::format("{} has {} values, {} were given", type.name(), type.components, numbers.size()));
  }
  alignment = alignment_of(type);
  std::vector<std::byte> bytes(type.bytes());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (const std::string why = why_not_held(type.element, numbers[i]); !why.empty()) refuse(argument, why);
    store(type.element, numbers[i], bytes.data() + i * size_of(type.element));
  }
  return bytes;
}

std::vector<std::byte> parse_struct(std::string_view argument) {
  std::vector<std::byte> bytes;
  std::size_t largest = 1;
  const auto pad = [&](std::size_t unit) { bytes.resize((bytes.size() + unit - 1) / unit * unit); };
  for (const std::string& field : split(argument.substr(1, argument.size() - 2), ';')) {
    std::size_t alignment = 1;
    const std::vector<std::byte> value = parse_scalar(argument, field, alignment);
    pad(alignment);
    bytes.insert(bytes.end(), value.begin(), value.end());
    largest = std::max(largest, alignment);
  }
  pad(largest);
  return bytes;
}

std::vector<std::byte> parse_bytes(std::string_view argument, std::string_view text) {
  std::vector<std::byte> bytes;
  if (text.starts_with('@')) {
    const std::string content = read_whole_file(std::string(text.substr(1)), 64 * 1024);
    bytes.resize(content.size());
    std::memcpy(bytes.data(), content.data(), content.size());
    return bytes;
  }
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + std::min(i + 2, text.size()), value, 16);
    if (error != std::errc() || end != text.data() + i + 2) refuse(argument, "bytes are pairs of hexadecimal digits");
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

Filling parse_filling(std::string_view argument, std::string_view text, bool floating) {
  using Kind = Filling::Kind;
  Filling filling;
  if (text.starts_with('@')) {
    filling.kind = Kind::file;
    filling.path = text.substr(1);
    return filling;
  }
  if (text.starts_with('{') && text.ends_with('}')) {
    filling.kind = Kind::list;
    filling.numbers = parse_numbers(argument, text.substr(1, text.size() - 2));
    return filling;
  }
  const std::size_t bracket = text.find('(');
  const std::string_view name = text.substr(0, bracket);
  std::vector<Number> given;
  if (bracket != std::string_view::npos) {
    if (!text.ends_with(')')) refuse(argument, "a bracket is not closed");
    given = parse_numbers(argument, text.substr(bracket + 1, text.size() - bracket - 2));
  }
  const auto with = [&](Kind kind, std::vector<Number> usual) {
    if (given.size() > usual.size()) refuse(argument, fmt::format("{} takes {} numbers", name, usual.size()));
    filling.kind = kind;
    filling.numbers = std::move(usual);
    std::copy(given.begin(), given.end(), filling.numbers.begin());
    return filling;
  };
  if (name == "zeros") return with(Kind::constant, {});
  if (name == "ones") return with(Kind::constant, {std::int64_t{1}});
  if (name == "unset") return with(Kind::unset, {});
  if (name == "iota") return with(Kind::iota, {std::int64_t{0}, std::int64_t{1}});
  if (name == "uniform") return with(Kind::uniform, {std::int64_t{0}, std::int64_t{floating ? 1 : 100}});
  if (name == "normal") return with(Kind::normal, {std::int64_t{0}, std::int64_t{1}});
  if (name == "shuffle") return with(Kind::shuffle, {});
  if (name == "bits") return with(Kind::bits, {});
  if (text.find_first_of("0123456789") == std::string_view::npos && text != "nan" && text != "inf" && text != "-inf") {
    refuse(argument, fmt::format("'{}' is no filling: there are zeros, ones, unset, iota, uniform, normal, shuffle, "
                                 "bits, a number, {{list}} and @FILE",
                                 text));
  }
  filling.kind = Kind::constant;
  filling.numbers = {parse_number(argument, text)};
  return filling;
}

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;

std::vector<std::uint64_t> parse_dims(std::string_view argument, std::string_view text) {
  std::vector<std::uint64_t> dims;
  if (text.empty()) return dims;
  std::uint64_t product = 1;
  for (const std::string& part : split(text, ',')) {
    const Number number = parse_number(argument, part);
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

}  // namespace

std::size_t size_of(Element element) {
  return info(element).bytes;
}
bool is_floating(Element element) {
  return info(element).floating;
}
std::string_view name_of(Element element) {
  return info(element).name;
}

std::string ValueType::name() const {
  return components == 1 ? std::string(name_of(element)) : fmt::format("{}{}", name_of(element), components);
}

long double exact(Number number) {
  return std::visit([](auto held) { return static_cast<long double>(held); }, number);
}

double as_double(Number number) {
  return std::visit([](auto held) { return static_cast<double>(held); }, number);
}

std::string why_not_held(Element element, Number number) {
  const ElementInfo& format = info(element);
  const long double value = exact(number);
  const bool unbounded = format.floating && element != Element::e4m3;
  if (std::isnan(value) ? format.floating : std::isinf(value) && unbounded) return {};
  if (value >= format.least && value <= format.greatest && (format.floating || value == std::trunc(value))) return {};
  if (format.floating)
    return fmt::format("{} holds numbers from {:g} to {:g}, not {}", format.name, format.least, format.greatest,
                       text_of(number));
  return fmt::format("{} holds whole numbers from {:.0f} to {:.0f}, not {}", format.name, format.least, format.greatest,
                     text_of(number));
}

void store(Element element, Number value, std::byte* to) {
  switch (element) {
    case Element::f64:
      return write_as(to, as_double(value));
    case Element::f32:
      return write_as(to, static_cast<float>(as_double(value)));
    case Element::f16:
      return write_as(to, vgpu::f16_from_f64(as_double(value)));
    case Element::bf16:
      return write_as(to, vgpu::bf16_from_f64(as_double(value)));
    case Element::e4m3:
      return write_as(to, vgpu::e4m3_from_f32(static_cast<float>(as_double(value))));
    case Element::e5m2:
      return write_as(to, vgpu::e5m2_from_f32(static_cast<float>(as_double(value))));
    default: {
      const std::uint64_t bits = bits_of(value);
      std::memcpy(to, &bits, size_of(element));
    }
  }
}

Number load(Element element, const std::byte* from) {
  switch (element) {
    case Element::f64:
      return read_as<double>(from);
    case Element::f32:
      return static_cast<double>(read_as<float>(from));
    case Element::f16:
      return static_cast<double>(vgpu::f32_from_f16(read_as<std::uint16_t>(from)));
    case Element::bf16:
      return static_cast<double>(vgpu::f32_from_bf16(read_as<std::uint16_t>(from)));
    case Element::e4m3:
      return static_cast<double>(vgpu::f32_from_e4m3(read_as<std::uint8_t>(from)));
    case Element::e5m2:
      return static_cast<double>(vgpu::f32_from_e5m2(read_as<std::uint8_t>(from)));
    case Element::s8:
      return std::int64_t{read_as<std::int8_t>(from)};
    case Element::boolean:
    case Element::u8:
      return std::int64_t{read_as<std::uint8_t>(from)};
    case Element::s16:
      return std::int64_t{read_as<std::int16_t>(from)};
    case Element::u16:
      return std::int64_t{read_as<std::uint16_t>(from)};
    case Element::s32:
      return std::int64_t{read_as<std::int32_t>(from)};
    case Element::u32:
      return std::int64_t{read_as<std::uint32_t>(from)};
    case Element::s64:
      return read_as<std::int64_t>(from);
    case Element::u64: {
      const auto value = read_as<std::uint64_t>(from);
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return value;
      return static_cast<std::int64_t>(value);
    }
  }
  return std::int64_t{0};
}

std::string text_of(Element element, const std::byte* from) {
  const Number number = load(element, from);
  // As short as tells a float from its neighbours.
  if (is_floating(element) && element != Element::f64) return fmt::format("{}", static_cast<float>(as_double(number)));
  return text_of(number);
}

ArgumentSpec parse_argument(std::string_view text, std::size_t number) {
  const std::string_view whole = trim(text);
  if (whole.empty()) refuse(text, "nothing is given");
  if (whole == "null" || whole == "nullptr") return BufferReference{};
  if (whole.starts_with('{') && whole.ends_with('}')) return ByValue{std::string(whole), parse_struct(whole)};
  if (whole.starts_with("bytes:")) return ByValue{std::string(whole), parse_bytes(whole, whole.substr(6))};
  const std::size_t bracket = whole.find('[');
  const std::size_t colon = whole.find(':');
  if (bracket != std::string_view::npos && bracket < colon) {
    BufferSpec buffer;
    const std::size_t equals = whole.substr(0, bracket).find('=');
    const bool named = equals != std::string_view::npos;
    buffer.name = named ? std::string(trim(whole.substr(0, equals))) : fmt::format("arg{}", number);
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
    if (buffer.dims.empty() && buffer.filling.kind != Filling::Kind::file) refuse(whole, "how many elements?");
    return buffer;
  }
  if (colon == std::string_view::npos && is_identifier(whole)) return BufferReference{std::string(whole)};
  std::size_t alignment = 1;
  return ByValue{std::string(whole), parse_scalar(whole, whole, alignment)};
}

}  // namespace evo::cli

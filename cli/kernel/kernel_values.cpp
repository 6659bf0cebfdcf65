#include "cli/kernel/kernel_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <optional>

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
      return write_as(to, f16_from_f64(as_double(value)));
    case Element::bf16:
      return write_as(to, bf16_from_f64(as_double(value)));
    case Element::e4m3:
      return write_as(to, e4m3_from_f32(static_cast<float>(as_double(value))));
    case Element::e5m2:
      return write_as(to, e5m2_from_f32(static_cast<float>(as_double(value))));
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
      return static_cast<double>(f32_from_f16(read_as<std::uint16_t>(from)));
    case Element::bf16:
      return static_cast<double>(f32_from_bf16(read_as<std::uint16_t>(from)));
    case Element::e4m3:
      return static_cast<double>(f32_from_e4m3(read_as<std::uint8_t>(from)));
    case Element::e5m2:
      return static_cast<double>(f32_from_e5m2(read_as<std::uint8_t>(from)));
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
  // As few digits as distinguish a float from its neighbours.
  if (is_floating(element) && element != Element::f64) return fmt::format("{}", static_cast<float>(as_double(number)));
  return text_of(number);
}

std::optional<ValueType> type_named(std::string_view name) {
  if (const auto element = element_named(name)) return ValueType{*element, 1};
  if (name.size() < 2 || name.back() < '2' || name.back() > '4') return std::nullopt;
  const auto element = element_named(name.substr(0, name.size() - 1));
  if (!element) return std::nullopt;
  return ValueType{*element, static_cast<std::size_t>(name.back() - '0')};
}

std::vector<std::string> element_names() {
  std::vector<std::string> names;
  for (const ElementInfo& entry : kElements) names.emplace_back(entry.name);
  return names;
}

}  // namespace evo::cli

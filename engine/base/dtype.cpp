#include "engine/base/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <sstream>
#include <stdexcept>
#include <string>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::array kInfos = {
    DTypeInfo{DType::boolean, "bool", "bool", "", 8, false, 0, 1},
    DTypeInfo{DType::u8, "u8", "unsigned char", " uchar uint8 uint8_t byte ", 8, false, 0, UINT8_MAX},
    DTypeInfo{DType::s8, "s8", "char", " schar signed_char int8 int8_t ", 8, false, INT8_MIN, INT8_MAX},
    DTypeInfo{DType::u16, "u16", "unsigned short", " ushort uint16 uint16_t ", 16, false, 0, UINT16_MAX},
    DTypeInfo{DType::s16, "s16", "short", " int16 int16_t ", 16, false, INT16_MIN, INT16_MAX},
    DTypeInfo{DType::u32, "u32", "unsigned", " uint uint32 uint32_t ", 32, false, 0, UINT32_MAX},
    DTypeInfo{DType::s32, "s32", "int", " int32 int32_t ", 32, false, INT32_MIN, INT32_MAX},
    DTypeInfo{DType::u64, "u64", "unsigned long long", " ulong ulonglong uint64 uint64_t size_t ", 64, false, 0,
              static_cast<double>(UINT64_MAX)},
    DTypeInfo{DType::s64, "s64", "long long", " long longlong int64 int64_t ptrdiff_t ", 64, false,
              static_cast<double>(INT64_MIN), static_cast<double>(INT64_MAX)},
    DTypeInfo{DType::e2m1, "e2m1", "e2m1", " fp4 fp4_e2m1 __nv_fp4_e2m1 ", 4, true, -6, 6},
    DTypeInfo{DType::e8m0, "e8m0", "e8m0", " fp8_e8m0 __nv_fp8_e8m0 ", 8, true, 0x1.0p-127, 0x1.0p127},
    DTypeInfo{DType::e4m3, "e4m3", "e4m3", " fp8_e4m3 __nv_fp8_e4m3 ", 8, true, -448, 448, 4, -6},
    DTypeInfo{DType::e5m2, "e5m2", "e5m2", " fp8_e5m2 __nv_fp8_e5m2 ", 8, true, -57344, 57344, 3, -14},
    DTypeInfo{DType::f16, "f16", "half", " fp16 float16 __half ", 16, true, -65504, 65504, 11, -14},
    DTypeInfo{DType::bf16, "bf16", "bf16", " bfloat16 __nv_bfloat16 ", 16, true, -0x1.fep127, 0x1.fep127, 8, -126},
    DTypeInfo{DType::f32, "f32", "float", " fp32 float32 ", 32, true, -FLT_MAX, FLT_MAX, 24, -126},
    DTypeInfo{DType::f64, "f64", "double", " fp64 float64 ", 64, true, -DBL_MAX, DBL_MAX, 53, -1022},
};

constexpr bool dtypes_in_order() {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(dtypes_in_order(), "each dtype has its row, in the order of the enumeration");

const DTypeInfo* find(std::string_view name) {
  for (const DTypeInfo& entry : kInfos) {
    if (entry.name == name || entry.cuda_name == name) return &entry;
    if (entry.other_names.find(fmt::format(" {} ", name)) != std::string_view::npos) return &entry;
  }
  return nullptr;
}

/// "unsigned long int" is "ulong", "signed char" is "char", "std::int8_t" is "int8_t".
std::string shortest_of_c(std::string_view name) {
  if (name.starts_with("std::")) return std::string(name.substr(5));
  std::istringstream words{std::string(name)};
  bool is_unsigned = false;
  std::string rest;
  for (std::string word; words >> word;) {
    is_unsigned = is_unsigned || word == "unsigned";
    if (word != "unsigned" && word != "signed" && word != "int") rest += word;
  }
  return (is_unsigned ? "u" : "") + (rest.empty() ? "int" : rest);
}

}  // namespace

const DTypeInfo& info_of(DType dtype) {
  return kInfos.at(static_cast<std::size_t>(dtype));
}

int bits_of(DType dtype) {
  return info_of(dtype).bits;
}
std::size_t size_of(DType dtype) {
  const int bits = bits_of(dtype);
  if (bits < 8) throw std::logic_error(fmt::format("an element of {} is no whole byte", name_of(dtype)));
  return static_cast<std::size_t>(bits) / 8;
}
std::uint64_t bytes_for(DType dtype, std::uint64_t elements) {
  return bits_of(dtype) < 8 ? (elements + 1) / 2 : elements * size_of(dtype);
}
bool is_floating(DType dtype) {
  return info_of(dtype).floating;
}
bool is_integer(DType dtype) {
  return !is_floating(dtype);
}
std::string_view name_of(DType dtype) {
  return info_of(dtype).name;
}
std::string_view cuda_name_of(DType dtype) {
  return info_of(dtype).cuda_name;
}

DType parse_dtype(std::string_view name) {
  if (const DTypeInfo* found = find(name)) return found->dtype;
  std::string names;
  for (const DTypeInfo& entry : kInfos) {
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  throw usage_error(fmt::format("unknown dtype '{}'; there are {}", name, names));
}

std::size_t ValueType::alignment() const {
  return components == 3 ? size_of(element) : std::min<std::size_t>(bytes(), 16);
}

std::string ValueType::name() const {
  return components == 1 ? std::string(cuda_name_of(element)) : fmt::format("{}{}", cuda_name_of(element), components);
}

std::optional<ValueType> type_named(std::string_view name) {
  if (const DTypeInfo* found = find(name)) return ValueType{found->dtype, 1};
  if (name.find_first_of(" :") != name.npos) {
    const DTypeInfo* found = find(shortest_of_c(name));
    return found == nullptr ? std::nullopt : std::optional(ValueType{found->dtype, 1});
  }
  if (name.size() < 2 || name.back() < '2' || name.back() > '4') return std::nullopt;
  const DTypeInfo* element = find(name.substr(0, name.size() - 1));
  if (element == nullptr) return std::nullopt;
  return ValueType{element->dtype, static_cast<std::size_t>(name.back() - '0')};
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const DTypeInfo& entry : kInfos) names.emplace_back(entry.cuda_name);
  return names;
}

}  // namespace evo

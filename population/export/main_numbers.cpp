#include "population/export/main_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace evo {
namespace {

struct Codec {
  std::string_view encode;  ///< Writes `value`, or `single`, which is the same as a float, to `to`.
  std::string_view decode;  ///< The value at `from`.
};

Codec codec_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return {"*to = value != 0;", "*from != 0"};
    case DType::u8:
      return {"*to = whole<unsigned char>(value);", "*from"};
    case DType::s8:
      return {"store(to, whole<signed char>(value));", "load<signed char>(from)"};
    case DType::u16:
      return {"store(to, whole<unsigned short>(value));", "load<unsigned short>(from)"};
    case DType::s16:
      return {"store(to, whole<short>(value));", "load<short>(from)"};
    case DType::u32:
      return {"store(to, whole<unsigned>(value));", "load<unsigned>(from)"};
    case DType::s32:
      return {"store(to, whole<int>(value));", "load<int>(from)"};
    case DType::u64:
      return {"store(to, whole<unsigned long long>(value));", "static_cast<double>(load<unsigned long long>(from))"};
    case DType::s64:
      return {"store(to, whole<long long>(value));", "static_cast<double>(load<long long>(from))"};
    case DType::e2m1:
      return {"*to = e2m1_code(value);", "(*from & 8) != 0 ? -kE2m1[*from & 7] : kE2m1[*from & 7]"};
    case DType::e8m0:
      return {
          "*to = value > 0 ? static_cast<unsigned char>(std::min(127, std::max(-127, std::ilogb(value))) + 127) : 0;",
          "*from == 255 ? NAN : std::ldexp(1.0, *from - 127)"};
    case DType::e4m3:
      return {"*to = __nv_cvt_float_to_fp8(single, __NV_SATFINITE, __NV_E4M3);",
              "__half2float(__half(__nv_cvt_fp8_to_halfraw(*from, __NV_E4M3)))"};
    case DType::e5m2:
      return {"*to = __nv_cvt_float_to_fp8(single, __NV_SATFINITE, __NV_E5M2);",
              "__half2float(__half(__nv_cvt_fp8_to_halfraw(*from, __NV_E5M2)))"};
    case DType::f16:
      return {"store(to, __float2half_rn(single));", "__half2float(load<__half>(from))"};
    case DType::bf16:
      return {"store(to, __float2bfloat16_rn(single));", "__bfloat162float(load<__nv_bfloat16>(from))"};
    case DType::f32:
      return {"store(to, single);", "load<float>(from)"};
    case DType::f64:
      return {"store(to, value);", "load<double>(from)"};
  }
  return {};
}

/// "    case DType::e4m3: return 1;\n" for each.
template <class Text>
std::string cases(const std::set<DType>& used, Text text) {
  std::string code;
  for (const DType dtype : used) code += fmt::format("    case DType::{}: {}\n", main_dtype(dtype), text(dtype));
  return code;
}

constexpr std::string_view kStores = R"cuda(
template <class T>
void store(unsigned char* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Rounded to nearest even and saturated.
template <class T>
T whole(double value) {
  if (!(value > static_cast<double>(std::numeric_limits<T>::lowest()))) return std::numeric_limits<T>::lowest();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(value));
}
)cuda";

constexpr std::string_view kE2m1Codes = R"cuda(
// OCP Microscaling Formats 1.0, 5.3.3: a sign and one of these. Two share a byte, the first in its low half.
constexpr double kE2m1[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

inline unsigned char e2m1_code(double value) {
  int code = 0;
  while (code < 7) {
    const double middle = (kE2m1[code] + kE2m1[code + 1]) / 2;
    if (std::fabs(value) < middle || (std::fabs(value) == middle && code % 2 == 0)) break;
    ++code;
  }
  return static_cast<unsigned char>(std::signbit(value) ? code | 8 : code);
}
)cuda";

// {}: what pairs of e2m1 need.
constexpr std::string_view kElements = R"cuda(
inline size_t bytes_for(DType dtype, long long count) {{
{}  return static_cast<size_t>(count) * size_of(dtype);
}}

// Of elements that lie one after the other.
inline void store_at(DType dtype, std::vector<unsigned char>& bytes, size_t i, double value) {{
{}  encode(dtype, value, &bytes[i * size_of(dtype)]);
}}
inline double load_at(DType dtype, const std::vector<unsigned char>& bytes, size_t i) {{
{}  return decode(dtype, &bytes[i * size_of(dtype)]);
}}
)cuda";

constexpr std::string_view kE2m1Bytes = R"cuda(  if (dtype == DType::e2m1) return static_cast<size_t>((count + 1) / 2);
)cuda";
constexpr std::string_view kE2m1Store = R"cuda(  if (dtype == DType::e2m1) {
    unsigned char& pair = bytes[i / 2];
    const unsigned code = e2m1_code(value);
    pair = static_cast<unsigned char>(i % 2 == 0 ? (pair & 0xf0U) | code : (pair & 0x0fU) | code << 4);
    return;
  }
)cuda";
constexpr std::string_view kE2m1Load = R"cuda(  if (dtype == DType::e2m1) {
    const unsigned char code = bytes[i / 2] >> (i % 2 * 4) & 15;
    return decode(dtype, &code);
  }
)cuda";

}  // namespace

std::string main_dtype(DType dtype) {
  return dtype == DType::boolean ? "boolean" : std::string(name_of(dtype));
}

std::string main_dtypes(const std::set<DType>& used) {
  std::vector<std::string> names;
  for (const DType dtype : used) names.push_back(main_dtype(dtype));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string main_numbers(const std::set<DType>& used) {
  const bool pairs = used.contains(DType::e2m1);
  std::string code = "\ninline size_t size_of(DType dtype) {\n  switch (dtype) {\n";
  code += cases(used, [](DType dtype) { return fmt::format("return {};", bits_of(dtype) < 8 ? 1 : size_of(dtype)); });
  code += "  }\n  return 0;\n}\n\ninline bool is_integer(DType dtype) {\n  switch (dtype) {\n";
  code += cases(used, [](DType dtype) { return fmt::format("return {};", evo::is_integer(dtype)); });
  code += "  }\n  return false;\n}\n";
  code += kStores;
  if (pairs) code += kE2m1Codes;
  code +=
      "\ninline void encode(DType dtype, double value, unsigned char* to) {\n"
      "  [[maybe_unused]] const float single = static_cast<float>(value);\n  switch (dtype) {\n";
  code += cases(used, [](DType dtype) { return fmt::format("{} break;", codec_of(dtype).encode); });
  code += "  }\n}\n\ninline double decode(DType dtype, const unsigned char* from) {\n  switch (dtype) {\n";
  code += cases(used, [](DType dtype) { return fmt::format("return {};", codec_of(dtype).decode); });
  code += "  }\n  return NAN;\n}\n";
  return code +
         fmt::format(fmt::runtime(kElements), pairs ? kE2m1Bytes : "", pairs ? kE2m1Store : "", pairs ? kE2m1Load : "");
}

std::string main_largest(const std::set<DType>& used) {
  std::string code =
      "\n// The largest real value of a code. u8 without zero points is an affine code: 0 to 255 stand for -448 to "
      "448.\n"
      "inline float largest(DType dtype) {\n  switch (dtype) {\n";
  for (const DType dtype : used) {
    if (bits_of(dtype) > 8 || dtype == DType::boolean || dtype == DType::e8m0) continue;
    code += fmt::format("    case DType::{}: return {:.1f}F;\n", main_dtype(dtype),
                        dtype == DType::u8 ? 448.0 : info_of(dtype).greatest);
  }
  return code + "    default: return 1.0F;\n  }\n}\n";
}

}  // namespace evo

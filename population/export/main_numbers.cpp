#include "population/export/main_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <vector>

#include "engine/base/text.h"
#include "engine/record/enumerators.h"

namespace evo {
namespace {

struct Codec {
  DType dtype;
  std::string_view encode;  ///< Writes `value`, or `single`, which is the same as a float, to `to`.
  std::string_view decode;  ///< The value at `from`.
};

constexpr std::array kCodecs = {
    Codec{DType::boolean, "*to = value != 0;", "*from != 0"},
    Codec{DType::u8, "*to = whole<unsigned char>(value);", "*from"},
    Codec{DType::s8, "store(to, whole<signed char>(value));", "load<signed char>(from)"},
    Codec{DType::u16, "store(to, whole<unsigned short>(value));", "load<unsigned short>(from)"},
    Codec{DType::s16, "store(to, whole<short>(value));", "load<short>(from)"},
    Codec{DType::u32, "store(to, whole<unsigned>(value));", "load<unsigned>(from)"},
    Codec{DType::s32, "store(to, whole<int>(value));", "load<int>(from)"},
    Codec{DType::u64, "store(to, whole<unsigned long long>(value));",
          "static_cast<double>(load<unsigned long long>(from))"},
    Codec{DType::s64, "store(to, whole<long long>(value));", "static_cast<double>(load<long long>(from))"},
    Codec{DType::e2m1, "*to = e2m1_code(value);", "(*from & 8) != 0 ? -kE2m1[*from & 7] : kE2m1[*from & 7]"},
    Codec{DType::e8m0,
          "*to = value > 0 ? static_cast<unsigned char>(std::min(127, std::max(-127, std::ilogb(value))) + 127) : 0;",
          "*from == 255 ? NAN : std::ldexp(1.0, *from - 127)"},
    Codec{DType::e4m3, "*to = __nv_cvt_float_to_fp8(single, __NV_SATFINITE, __NV_E4M3);",
          "__half2float(__half(__nv_cvt_fp8_to_halfraw(*from, __NV_E4M3)))"},
    Codec{DType::e5m2, "*to = __nv_cvt_float_to_fp8(single, __NV_SATFINITE, __NV_E5M2);",
          "__half2float(__half(__nv_cvt_fp8_to_halfraw(*from, __NV_E5M2)))"},
    Codec{DType::f16, "store(to, __float2half_rn(single));", "__half2float(load<__half>(from))"},
    Codec{DType::bf16, "store(to, __float2bfloat16_rn(single));", "__bfloat162float(load<__nv_bfloat16>(from))"},
    Codec{DType::f32, "store(to, single);", "load<float>(from)"},
    Codec{DType::f64, "store(to, value);", "load<double>(from)"},
};
static_assert(has_row_for_each(kCodecs, &Codec::dtype), "each type has its row, in the order of the enumeration");

const Codec& codec_of(DType dtype) {
  return kCodecs[static_cast<std::size_t>(dtype)];
}

/// "case DType::e4m3: return 1;" for each, on lines of their own.
template <class Text>
std::string cases(const std::set<DType>& used, Text text) {
  return joined(used, "\n    ",
                [&](const DType dtype) { return fmt::format("case DType::{}: {}", main_dtype(dtype), text(dtype)); });
}

bool has_largest(DType dtype) {
  return bits_of(dtype) <= 8 && dtype != DType::boolean && dtype != DType::e8m0;
}

}  // namespace

std::string main_dtype(DType dtype) {
  return dtype == DType::boolean ? "boolean" : std::string(name_of(dtype));
}

Bindings main_numbers(const std::set<DType>& used) {
  std::vector<std::string> names;
  std::set<DType> codes;
  for (const DType dtype : used) {
    names.push_back(main_dtype(dtype));
    if (has_largest(dtype)) codes.insert(dtype);
  }
  const auto size = [](DType dtype) { return fmt::format("return {};", bits_of(dtype) < 8 ? 1 : size_of(dtype)); };
  const auto integer = [](DType dtype) { return fmt::format("return {};", is_integer(dtype)); };
  const auto encoding = [](DType dtype) { return fmt::format("{} break;", codec_of(dtype).encode); };
  const auto decoding = [](DType dtype) { return fmt::format("return {};", codec_of(dtype).decode); };
  const auto largest = [](DType dtype) {
    return fmt::format("return {:.1f}F;", dtype == DType::u8 ? 448.0 : info_of(dtype).greatest);
  };
  return {{"dtypes", fmt::format("{}", fmt::join(names, ", "))},
          {"size_cases", cases(used, size)},
          {"integer_cases", cases(used, integer)},
          {"encode_cases", cases(used, encoding)},
          {"decode_cases", cases(used, decoding)},
          {"largest_cases", cases(codes, largest)},
          {"u8", used.contains(DType::u8)},
          {"e2m1", used.contains(DType::e2m1)},
          {"e8m0", used.contains(DType::e8m0)}};
}

}  // namespace evo

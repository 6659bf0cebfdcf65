#include "evaluator/numbers/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "evaluator/numbers/float_formats.h"

namespace evo {
namespace {

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

// ---- OCP Microscaling Formats 1.0, 5.3.3 and 5.4.1. Both fit a table or a shift.

constexpr std::array kE2m1 = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

double f64_from_e2m1(std::uint8_t code) {
  const double magnitude = kE2m1[code & 7u];
  return (code & 8u) != 0 ? -magnitude : magnitude;
}

/// Nearest, ties to the even code; beyond 6 and NaN: 6, which is what `cvt.rn.satfinite` gives.
std::uint8_t e2m1_from_f64(double value) {
  const double magnitude = std::isnan(value) ? kE2m1.back() : std::fabs(value);
  std::uint8_t code = 0;
  while (code + 1u < kE2m1.size()) {
    const double middle = (kE2m1[code] + kE2m1[code + 1u]) / 2;
    if (magnitude < middle || (magnitude == middle && code % 2 == 0)) break;
    ++code;
  }
  return static_cast<std::uint8_t>(code | (std::signbit(value) && !std::isnan(value) ? 8u : 0u));
}

constexpr int kE8m0Bias = 127;

double f64_from_e8m0(std::uint8_t code) {
  return code == 0xff ? std::nan("") : std::ldexp(1.0, code - kE8m0Bias);
}

/// The largest power of two that is no larger; at least 2^-127, at most 2^127. NaN for NaN and negative numbers.
std::uint8_t e8m0_from_f64(double value) {
  if (std::isnan(value) || value < 0) return 0xff;
  if (value == 0) return 0;
  const int exponent = std::isinf(value) ? kE8m0Bias : std::ilogb(value);
  return static_cast<std::uint8_t>(std::clamp(exponent, -kE8m0Bias, kE8m0Bias) + kE8m0Bias);
}

}  // namespace

void store(DType dtype, Number value, std::byte* to) {
  switch (dtype) {
    case DType::f64:
      return write_as(to, as_double(value));
    case DType::f32:
      return write_as(to, static_cast<float>(as_double(value)));
    case DType::f16:
      return write_as(to, f16_from_f64(as_double(value)));
    case DType::bf16:
      return write_as(to, bf16_from_f64(as_double(value)));
    case DType::e4m3:
      return write_as(to, e4m3_from_f32(static_cast<float>(as_double(value))));
    case DType::e2m1:
      return write_as(to, e2m1_from_f64(as_double(value)));
    case DType::e8m0:
      return write_as(to, e8m0_from_f64(as_double(value)));
    case DType::e5m2:
      return write_as(to, e5m2_from_f32(static_cast<float>(as_double(value))));
    default: {
      const std::uint64_t bits = bits_of(value);
      std::memcpy(to, &bits, size_of(dtype));
    }
  }
}

Number load(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::f64:
      return read_as<double>(from);
    case DType::f32:
      return static_cast<double>(read_as<float>(from));
    case DType::f16:
      return static_cast<double>(f32_from_f16(read_as<std::uint16_t>(from)));
    case DType::bf16:
      return static_cast<double>(f32_from_bf16(read_as<std::uint16_t>(from)));
    case DType::e4m3:
      return static_cast<double>(f32_from_e4m3(read_as<std::uint8_t>(from)));
    case DType::e5m2:
      return static_cast<double>(f32_from_e5m2(read_as<std::uint8_t>(from)));
    case DType::e2m1:
      return f64_from_e2m1(read_as<std::uint8_t>(from));
    case DType::e8m0:
      return f64_from_e8m0(read_as<std::uint8_t>(from));
    case DType::s8:
      return std::int64_t{read_as<std::int8_t>(from)};
    case DType::boolean:
    case DType::u8:
      return std::int64_t{read_as<std::uint8_t>(from)};
    case DType::s16:
      return std::int64_t{read_as<std::int16_t>(from)};
    case DType::u16:
      return std::int64_t{read_as<std::uint16_t>(from)};
    case DType::s32:
      return std::int64_t{read_as<std::int32_t>(from)};
    case DType::u32:
      return std::int64_t{read_as<std::uint32_t>(from)};
    case DType::s64:
      return read_as<std::int64_t>(from);
    case DType::u64: {
      const auto value = read_as<std::uint64_t>(from);
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return value;
      return static_cast<std::int64_t>(value);
    }
  }
  return std::int64_t{0};
}

void store_at(DType dtype, std::byte* array, std::uint64_t index, Number value) {
  if (dtype != DType::e2m1) return store(dtype, value, array + index * size_of(dtype));
  std::byte code{0};
  store(dtype, value, &code);
  std::byte& pair = array[index / 2];
  pair = index % 2 == 0 ? (pair & std::byte{0xf0}) | code : (pair & std::byte{0x0f}) | code << 4;
}

Number load_at(DType dtype, const std::byte* array, std::uint64_t index) {
  if (dtype != DType::e2m1) return load(dtype, array + index * size_of(dtype));
  const std::byte code = array[index / 2] >> (index % 2 == 0 ? 0 : 4) & std::byte{0x0f};
  return load(dtype, &code);
}

std::string text_of(DType dtype, Number number) {
  if (is_floating(dtype) && dtype != DType::f64) return fmt::format("{}", static_cast<float>(as_double(number)));
  return text_of(number);
}

std::vector<std::byte> bytes_of(const std::vector<Scalar>& fields) {
  std::vector<std::byte> bytes;
  std::size_t largest = 1;
  const auto pad = [&](std::size_t unit) { bytes.resize((bytes.size() + unit - 1) / unit * unit); };
  for (const Scalar& field : fields) {
    pad(field.type.alignment());
    const std::size_t begin = bytes.size();
    const std::size_t size = size_of(field.type.element);
    bytes.resize(begin + field.type.bytes());
    for (std::size_t i = 0; i < field.components.size(); ++i) {
      store(field.type.element, field.components[i], bytes.data() + begin + i * size);
    }
    largest = std::max(largest, field.type.alignment());
  }
  pad(largest);
  return bytes;
}

}  // namespace evo

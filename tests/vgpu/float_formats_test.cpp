#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <random>

#include "directed_rounding.h"
#include "evaluator/vgpu/numbers/float_bits.h"
#include "evaluator/vgpu/numbers/row_conversions.h"
#include "tests/vgpu/conformance/recorded_numerics.h"

namespace evo::vgpu {
namespace {

/// A format by its definition, independent of the implementation.
struct Definition {
  int exponent_bits;
  int fraction_bits;
  bool infinity;

  int codes() const { return 1 << (exponent_bits + fraction_bits); }  ///< Without the sign.
  double value(int code) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = code >> fraction_bits;
    const int fraction = code & ((1 << fraction_bits) - 1);
    if (infinity && exponent == (1 << exponent_bits) - 1)
      return fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    if (!infinity && code == codes() - 1) return std::nan("");
    if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits);
    return std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }
  int largest() const { return infinity ? codes() - (1 << fraction_bits) - 1 : codes() - 2; }
  /// The largest code whose value is at most `magnitude` (finite).
  int floor_code(double magnitude) const {
    int low = 0, high = largest();
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      (value(middle) <= magnitude ? low : high) = value(middle) <= magnitude ? middle : middle - 1;
    }
    return low;
  }
};

constexpr Definition kF16{5, 10, true}, kBf16{8, 7, true}, kTf32{8, 10, true}, kE4m3{4, 3, false}, kE5m2{5, 2, true};

/// The code that `value`, not NaN, rounds to; found among its two neighbours.
int expected_code(const Definition& format, double value, Narrowing how) {
  const bool negative = std::signbit(value);
  if (how.relu && negative) return 0;
  const int sign = negative ? format.codes() : 0;
  const int infinite = format.infinity ? format.largest() + 1 : format.largest();
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign + (how.saturate_finite ? format.largest() : infinite);
  const int low = format.floor_code(magnitude);
  const double below = format.value(low);
  const double above = low == format.largest() ? 2 * below - format.value(low - 1) : format.value(low + 1);
  bool up = false;
  switch (how.rounding) {
    case Rounding::rn:
      up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && low % 2 == 1);
      break;
    case Rounding::rna:
      up = magnitude - below >= above - magnitude;
      break;
    case Rounding::rz:
      break;
    case Rounding::rm:
      up = negative && magnitude > below;
      break;
    case Rounding::rp:
      up = !negative && magnitude > below;
      break;
  }
  if (up && low == format.largest()) return sign + (how.saturate_finite ? format.largest() : infinite);
  return sign + low + (up ? 1 : 0);
}

/// Every code of the format and its halfway points, their f32 neighbours, and random bits; no NaN.
std::vector<float> probes(const Definition& format) {
  std::vector<float> values;
  const auto add = [&](double value) {
    const float f = static_cast<float>(value);
    for (float near : {f, std::nextafter(f, 0.f), std::nextafter(f, std::numeric_limits<float>::infinity())}) {
      values.push_back(near);
      values.push_back(-near);
    }
  };
  const int step = format.codes() > 20000 ? 37 : 1;
  for (int code = 0; code <= format.largest(); code += step) {
    add(format.value(code));
    add((format.value(code) + format.value(std::min(code + 1, format.largest()))) / 2);
  }
  add(1.5 * format.value(format.largest()));
  add(std::numeric_limits<float>::infinity());
  add(std::numeric_limits<float>::max());
  add(std::numeric_limits<float>::denorm_min());
  std::mt19937 random(5);
  while (values.size() % 64 != 0 || values.size() < 30000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

template <class Convert>
void check_narrowing(const Definition& format, Narrowing how, Convert convert, bool always_saturates = false) {
  Narrowing meant = how;
  meant.saturate_finite = how.saturate_finite || always_saturates;
  for (float value : probes(format)) {
    const int got = static_cast<int>(convert(value, how));
    const int want = expected_code(format, value, meant);
    if (got != want) {
      CAPTURE(value, std::bit_cast<std::uint32_t>(value), got, want);
      REQUIRE(got == want);
    }
  }
}

std::vector<Narrowing> every_narrowing() {
  std::vector<Narrowing> all;
  for (Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna})
    for (bool saturate : {false, true})
      for (bool relu : {false, true}) all.push_back({rounding, saturate, relu});
  return all;
}

using Row = std::array<std::uint32_t, kLanes>;

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST_CASE("f32 narrows to the neighbour that the rounding mode selects") {
  for (const Narrowing& how : every_narrowing()) {
    check_narrowing(kF16, how, f16_from_f32);
    check_narrowing(kBf16, how, bf16_from_f32);
    check_narrowing(kTf32, how, [](float v, Narrowing n) { return tf32_from_f32(v, n) >> 13; });
    check_narrowing(kE4m3, how, e4m3_from_f32, true);
    check_narrowing(kE5m2, how, e5m2_from_f32, true);
  }
}

TEST_CASE("f64 narrows in one step, without a second rounding through f32") {
  // Half an f16 step above 1 plus a bit that f32 would drop.
  const double above_half = 1.0 + 0x1p-11 + 0x1p-40;
  CHECK(f16_from_f64(above_half) == 0x3c01);
  CHECK(f16_from_f32(static_cast<float>(above_half)) == 0x3c00);
  CHECK(bf16_from_f64(1.0 + 0x1p-8 + 0x1p-40) == 0x3f81);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()) - 0x1p63, static_cast<int>(random() % 60) - 90);
    for (const Narrowing& how : every_narrowing()) {
      REQUIRE(f16_from_f64(value, how) == expected_code(kF16, value, how));
      REQUIRE(bf16_from_f64(value, how) == expected_code(kBf16, value, how));
    }
  }
}

TEST_CASE("widening is exact and makes NaN canonical") {
  for (int code = 0; code < 65536; ++code) {
    const double want = kF16.value(code & 0x7fff) * (code & 0x8000 ? -1 : 1);
    const float got = f32_from_f16(static_cast<std::uint16_t>(code));
    if (std::isnan(want))
      REQUIRE(bits_of(got) == 0x7fffffffu);
    else
      REQUIRE((got == want && std::signbit(got) == (code >= 0x8000)));
  }
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const double e4m3 = kE4m3.value(code & 0x7f), e5m2 = kE5m2.value(code & 0x7f);
    if (std::isnan(e4m3))
      REQUIRE((f16_from_e4m3(byte) == 0x7fff && std::isnan(f32_from_e4m3(byte))));
    else
      REQUIRE(
          (f32_from_e4m3(byte) == (code & 0x80 ? -e4m3 : e4m3) && std::signbit(f32_from_e4m3(byte)) == (code >= 128)));
    if (std::isnan(e5m2))
      REQUIRE((f16_from_e5m2(byte) == 0x7fff && std::isnan(f32_from_e5m2(byte))));
    else
      REQUIRE(f32_from_e5m2(byte) == (code & 0x80 ? -e5m2 : e5m2));
  }
  CHECK(bits_of(f32_from_bf16(0xffc1)) == 0xffc10000u);
}

TEST_CASE("NaN becomes the canonical NaN of the target, whatever its sign and the modifiers") {
  for (std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
    for (const Narrowing& how : every_narrowing()) {
      const float nan = std::bit_cast<float>(bits);
      CHECK(f16_from_f32(nan, how) == 0x7fff);
      CHECK(bf16_from_f32(nan, how) == 0x7fff);
      CHECK(e4m3_from_f32(nan, how) == 0x7f);
      CHECK(e5m2_from_f32(nan, how) == 0x7f);
      if (how.rounding != Rounding::rna) CHECK(tf32_from_f32(nan, how) == 0x7fffe000u);
    }
}

TEST_CASE("a row of 32 lanes converts as its lanes do") {
  const std::vector<float> values = probes(kE4m3);
  for (const Narrowing& how : every_narrowing())
    for (std::size_t at = 0; at + 64 <= values.size(); at += 64) {
      Row a, b, f16, f16x2, bf16x2, e4m3x2, e5m2x2, tf32;
      for (int lane = 0; lane < kLanes; ++lane) {
        a[lane] = bits_of(values[at + lane]);
        b[lane] = bits_of(values[at + 32 + lane]);
      }
      row::cvt_f16_f32(f16.data(), a.data(), how);
      row::cvt_f16x2_f32(f16x2.data(), a.data(), b.data(), how);
      row::cvt_bf16x2_f32(bf16x2.data(), a.data(), b.data(), how);
      row::cvt_e4m3x2_f32(e4m3x2.data(), a.data(), b.data(), how);
      row::cvt_e5m2x2_f32(e5m2x2.data(), a.data(), b.data(), how);
      row::cvt_tf32_f32(tf32.data(), a.data(), how);
      for (int lane = 0; lane < kLanes; ++lane) {
        const float x = values[at + lane], y = values[at + 32 + lane];
        REQUIRE(f16[lane] == f16_from_f32(x, how));
        REQUIRE(f16x2[lane] == (std::uint32_t{f16_from_f32(x, how)} << 16 | f16_from_f32(y, how)));
        REQUIRE(bf16x2[lane] == (std::uint32_t{bf16_from_f32(x, how)} << 16 | bf16_from_f32(y, how)));
        REQUIRE(e4m3x2[lane] == (std::uint32_t{e4m3_from_f32(x, how)} << 8 | e4m3_from_f32(y, how)));
        REQUIRE(e5m2x2[lane] == (std::uint32_t{e5m2_from_f32(x, how)} << 8 | e5m2_from_f32(y, how)));
        REQUIRE(tf32[lane] == tf32_from_f32(x, how));
      }
    }
}

TEST_CASE("a row converts in place, and packed halves keep their order") {
  for (std::uint32_t first = 0; first < 65536; first += kLanes) {
    Row a, packed, wide;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) a[lane] = (first + lane) | (65535 - first - lane) << 16;
    packed = a;
    row::cvt_e4m3x2_f16x2(packed.data(), packed.data());
    row::cvt_f32_f16(wide.data(), a.data());
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const auto low = static_cast<std::uint16_t>(first + lane), high = static_cast<std::uint16_t>(65535 - low);
      const auto e4m3 = [](std::uint16_t half) { return e4m3_from_f32(f32_from_f16(half)); };
      REQUIRE(packed[lane] == (std::uint32_t{e4m3(high)} << 8 | e4m3(low)));
      REQUIRE(wide[lane] == bits_of(f32_from_f16(low)));
      a[lane] = (first + lane) & 0xffffu;
    }
    for (bool relu : {false, true}) {
      Row e4m3 = a, e5m2 = a;
      row::cvt_f16x2_e4m3x2(e4m3.data(), e4m3.data(), relu);
      row::cvt_f16x2_e5m2x2(e5m2.data(), e5m2.data(), relu);
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto keep = [&](std::uint16_t half) -> std::uint32_t { return relu && half >= 0x8000 ? 0 : half; };
        const auto low = static_cast<std::uint8_t>(a[lane]), high = static_cast<std::uint8_t>(a[lane] >> 8);
        REQUIRE(e4m3[lane] == (keep(f16_from_e4m3(high)) << 16 | keep(f16_from_e4m3(low))));
        REQUIRE(e5m2[lane] == (keep(f16_from_e5m2(high)) << 16 | keep(f16_from_e5m2(low))));
      }
    }
  }
}

TEST_CASE("conversions from f32 equal an H200, NaNs included") {
  const RecordedSection section = recorded_sections("convert.bin").at("from.f32");
  const auto rn = Rounding::rn;
  using Column = std::function<std::uint32_t(float)>;
  // Packed records hold the conversion of -x above that of x.
  const auto pair = [](int width, const std::function<std::uint32_t(float)>& convert) {
    return Column([=](float x) { return convert(-x) << width | convert(x); });
  };
  const auto f16 = [](Narrowing how) { return Column([=](float x) { return f16_from_f32(x, how); }); };
  const auto bf16 = [](Narrowing how) { return Column([=](float x) { return bf16_from_f32(x, how); }); };
  const auto tf32 = [](Narrowing how) { return Column([=](float x) { return tf32_from_f32(x, how); }); };
  const auto e4m3 = [](Narrowing how) { return Column([=](float x) { return e4m3_from_f32(x, how); }); };
  const auto e5m2 = [](Narrowing how) { return Column([=](float x) { return e5m2_from_f32(x, how); }); };
  const Narrowing nearest{rn, false, false}, saturate{rn, true, false}, relu{rn, false, true},
      cut{Rounding::rz, false, false};
  const Column columns[] = {f16(nearest),
                            f16(cut),
                            f16({Rounding::rm, false, false}),
                            f16({Rounding::rp, false, false}),
                            [](float x) { return f16_from_f32(flushed<true>(x)); },
                            f16(relu),
                            f16(saturate),
                            bf16(nearest),
                            bf16(cut),
                            bf16({Rounding::rm, false, false}),
                            bf16({Rounding::rp, false, false}),
                            bf16(relu),
                            bf16(saturate),
                            tf32({Rounding::rna, false, false}),
                            tf32(nearest),
                            tf32(cut),
                            tf32(relu),
                            pair(16, f16(nearest)),
                            pair(16, f16(cut)),
                            pair(16, f16(relu)),
                            pair(16, f16(saturate)),
                            pair(16, bf16(nearest)),
                            pair(16, bf16(cut)),
                            pair(8, e4m3(nearest)),
                            pair(8, e4m3(relu)),
                            pair(8, e5m2(nearest)),
                            pair(8, e5m2(relu)),
                            tf32({Rounding::rna, true, false})};
  REQUIRE(section.words_out == std::size(columns));
  for (std::size_t i = 0; i < section.records(); ++i)
    for (std::size_t column = 0; column < std::size(columns); ++column) {
      CAPTURE(*section.in(i), column);
      REQUIRE(columns[column](std::bit_cast<float>(*section.in(i))) == section.out(i)[column]);
    }
}

TEST_CASE("conversions from f64 equal an H200, payloads of NaNs included") {
  const RecordedSection section = recorded_sections("convert.bin").at("from.f64");
  const Narrowing cut{Rounding::rz, false, false};
  for (std::size_t i = 0; i < section.records(); ++i) {
    double x = 0;
    std::memcpy(&x, section.in(i), 8);
    const std::uint32_t got[] = {f16_from_f64(x),
                                 f16_from_f64(x, cut),
                                 bf16_from_f64(x),
                                 bits_of(rounded_to_f32(x, Rounding::rn)),
                                 bits_of(rounded_to_f32(x, Rounding::rz)),
                                 bits_of(rounded_to_f32(x, Rounding::rm)),
                                 bits_of(rounded_to_f32(x, Rounding::rp)),
                                 bits_of(flushed<true>(rounded_to_f32(x, Rounding::rn)))};
    REQUIRE(section.words_out == std::size(got));
    for (std::size_t column = 0; column < std::size(got); ++column) {
      CAPTURE(x, column);
      REQUIRE(got[column] == section.out(i)[column]);
    }
  }
}

TEST_CASE("conversions from every 8-bit and 16-bit code equal an H200") {
  const auto checksums = recorded_checksums();
  std::vector<std::uint32_t> halves(65536), bytes(256);
  for (std::uint32_t i = 0; i < 65536; ++i) halves[i] = i | i << 16;
  for (std::uint32_t i = 0; i < 256; ++i) bytes[i] = i | i << 8;
  const Narrowing relu{Rounding::rn, false, true};
  using Convert = std::function<void(std::uint32_t*, const std::uint32_t*)>;
  const auto check = [&](const char* name, const std::vector<std::uint32_t>& inputs, const Convert& convert) {
    CAPTURE(name);
    CHECK(checksum_of(map_rows(inputs, convert)) == checksums.at(name));
  };
  using P = std::uint32_t*;
  using C = const std::uint32_t*;
  check("from.16bits.4", halves, row::cvt_f32_f16);
  check("from.16bits.5", halves, row::cvt_f32_bf16);
  check("from.16bits.6", halves, [&](P d, C a) { row::cvt_e4m3x2_f16x2(d, a); });
  check("from.16bits.7", halves, [&](P d, C a) { row::cvt_e4m3x2_f16x2(d, a, relu); });
  check("from.16bits.8", halves, [&](P d, C a) { row::cvt_e5m2x2_f16x2(d, a); });
  check("from.16bits.9", halves, [&](P d, C a) { row::cvt_e5m2x2_f16x2(d, a, relu); });
  check("from.8bits.0", bytes, [&](P d, C a) { row::cvt_f16x2_e4m3x2(d, a); });
  check("from.8bits.1", bytes, [&](P d, C a) { row::cvt_f16x2_e4m3x2(d, a, true); });
  check("from.8bits.2", bytes, [&](P d, C a) { row::cvt_f16x2_e5m2x2(d, a); });
  check("from.8bits.3", bytes, [&](P d, C a) { row::cvt_f16x2_e5m2x2(d, a, true); });
}

TEST_CASE("flushing takes subnormals only and keeps the sign") {
  CHECK(bits_of(flushed<true>(std::bit_cast<float>(0x807fffffu))) == 0x80000000u);
  CHECK(bits_of(flushed<true>(std::bit_cast<float>(1u))) == 0u);
  CHECK(bits_of(flushed<true>(std::bit_cast<float>(0x00800000u))) == 0x00800000u);
  CHECK(bits_of(flushed<true>(-0.f)) == 0x80000000u);
}

}  // namespace
}  // namespace evo::vgpu

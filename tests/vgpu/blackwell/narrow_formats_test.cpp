#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/vgpu/gpu_for_tests.h"

// Conversions of formats with six and four bits, and of scales. What is expected is found by looking at all codes.
namespace evo::vgpu {
namespace {

using U64 = std::uint64_t;

struct Narrow {
  const char* name;
  int exponent_bits;
  int fraction_bits;
  int slot;  ///< Bits that a code has in a pair.

  int bits() const { return 1 + exponent_bits + fraction_bits; }
  double value(unsigned code) const {
    const unsigned fraction = code & ((1u << fraction_bits) - 1);
    const int field = static_cast<int>(code >> fraction_bits & ((1u << exponent_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double significand = static_cast<double>(fraction) / (1 << fraction_bits) + (field > 0 ? 1 : 0);
    const double magnitude = std::ldexp(significand, (field > 0 ? field : 1) - bias);
    return (code >> (bits() - 1) & 1u) != 0 ? -magnitude : magnitude;
  }
  /// The nearest code, of two the even one; what is too large gives the largest, and NaN the positive one.
  unsigned nearest(float x, bool relu) const {
    const unsigned sign = 1u << (bits() - 1);
    if (std::isnan(x)) return sign - 1;
    if (relu && std::signbit(x)) return 0;
    const double size = std::min(std::fabs(double{x}), value(sign - 1));
    unsigned best = 0;
    for (unsigned code = 1; code < sign; ++code) {
      const double off = std::fabs(value(code) - size), before = std::fabs(value(best) - size);
      if (off < before || (off == before && code % 2 == 0)) best = code;
    }
    return (std::signbit(x) ? sign : 0) | best;
  }
};
constexpr Narrow kFormats[] = {{"e2m1x2", 2, 1, 4}, {"e2m3x2", 2, 3, 8}, {"e3m2x2", 3, 2, 8}};

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

std::vector<Inputs> pairs_of_floats() {
  std::vector<float> values{0.0f, -0.0f, 1e-30f, -1e30f, HUGE_VALF, -HUGE_VALF, std::nanf(""), 0.25f, 0.125f, 0.0625f};
  for (int i = -256; i <= 256; ++i) values.push_back(static_cast<float>(i) / 32);  // All ties of e2m1 and more.
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i)
    values.push_back(
        std::bit_cast<float>(static_cast<std::uint32_t>((random() & 0x807fffffu) | (119 + random() % 14) << 23)));
  std::vector<Inputs> inputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.push_back({bits(values[i]), bits(values[(i * 7 + 5) % values.size()])});
  return inputs;
}

std::string snippet(const std::string& instruction) {
  return "{ .reg .b8 c8; .reg .f32 x, y; mov.b32 x, a32; mov.b32 y, b32; " + instruction + " }";
}

TEST_CASE("cvt to formats of six and four bits gives the nearest code") {
  const auto inputs = pairs_of_floats();
  for (const Narrow& format : kFormats) {
    for (const bool relu : {false, true}) {
      const std::string name = std::string(relu ? ".relu." : ".") + format.name;
      const bool byte = format.slot == 4;
      const auto results = run_snippet(
          snippet("cvt.rn.satfinite" + name + ".f32 " + (byte ? "c8, x, y; cvt.u16.u8 d16, c8;" : "d16, x, y;")), 16,
          inputs, best_simd(), "sm_120a");
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[i].a));
        const float y = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[i].b));
        INFO(name << " " << x << " " << y);
        REQUIRE(results[i] == (format.nearest(x, relu) << format.slot | format.nearest(y, relu)));
      }
    }
  }
}

TEST_CASE("cvt from formats of six and four bits gives their values in f16") {
  for (const Narrow& format : kFormats) {
    std::vector<Inputs> inputs;
    const unsigned codes = 1u << format.bits();
    for (unsigned code = 0; code < codes; ++code) inputs.push_back({(codes - 1 - code) << format.slot | code});
    for (const bool relu : {false, true}) {
      const std::string conversion = std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + format.name;
      const auto results = run_snippet(
          snippet(format.slot == 4 ? "cvt.u8.u16 c8, a16; " + conversion + " d32, c8;" : conversion + " d32, a16;"), 32,
          inputs, best_simd(), "sm_120a");
      for (unsigned code = 0; code < codes; ++code) {
        const auto want = [&](unsigned of) {
          return relu && format.value(of) <= 0 ? 0u : f16_from_f32(static_cast<float>(format.value(of)));
        };
        const auto sign = [&](unsigned of) { return !relu && of == codes / 2 ? 0x8000u : 0u; };  // -0
        INFO(conversion << " " << code);
        CHECK(results[code] == ((want(codes - 1 - code) | sign(codes - 1 - code)) << 16 | want(code) | sign(code)));
      }
    }
  }
}

/// 2^(code - 127)
double scale(unsigned code) {
  return std::ldexp(1.0, static_cast<int>(code) - 127);
}

TEST_CASE("cvt to ue8m0 rounds magnitudes to powers of two, towards zero or up") {
  std::vector<Inputs> inputs;
  for (const std::uint32_t exponent : {0u, 1u, 2u, 100u, 127u, 200u, 253u, 254u, 255u})
    for (const std::uint32_t fraction : {0u, 1u, 0x3fffffu, 0x400000u, 0x400001u, 0x7fffffu})
      for (const std::uint32_t sign : {0u, 1u}) inputs.push_back({sign << 31 | exponent << 23 | fraction, bits(1.5f)});
  for (const bool up : {false, true})
    for (const bool saturates : {false, true}) {
      const std::string name = std::string(up ? "cvt.rp" : "cvt.rz") + (saturates ? ".satfinite" : "") + ".ue8m0x2.f32";
      const auto results = run_snippet(snippet(name + " d16, x, y;"), 16, inputs, best_simd(), "sm_120a");
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[i].a));
        const double size = std::fabs(double{x});
        unsigned want = 0;
        if (std::isnan(x)) {
          want = 255;
        } else {
          while (want < 255 && (up ? scale(want) < size : scale(want + 1) <= size)) ++want;
          if (saturates && want == 255) want = 254;
        }
        INFO(name << " " << x);
        CHECK(results[i] == (want << 8 | (up ? 128u : 127u)));
      }
    }
}

TEST_CASE("scales become bf16, and bf16 pairs become scales") {
  std::vector<Inputs> inputs;
  for (unsigned code = 0; code < 256; ++code) inputs.push_back({(255 - code) << 8 | code});
  const auto wide = run_snippet("cvt.rn.bf16x2.ue8m0x2 d32, a16;", 32, inputs, best_simd(), "sm_120a");
  const auto again = run_snippet("cvt.rn.bf16x2.ue8m0x2 d32, a16; cvt.rz.ue8m0x2.bf16x2 d16, d32;", 16, inputs,
                                 best_simd(), "sm_120a");
  for (unsigned code = 0; code < 256; ++code) {
    const float low = std::bit_cast<float>(static_cast<std::uint32_t>(wide[code] << 16));
    CHECK((code == 255 ? std::isnan(low) : double{low} == scale(code)));
    CHECK(again[code] == inputs[code].a);
  }
}

}  // namespace
}  // namespace evo::vgpu

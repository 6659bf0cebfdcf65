#include <bit>
#include <cfenv>
#include <functional>
#include <random>

#include "directed_rounding.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

float as_f32(U64 bits) {
  return std::bit_cast<float>(static_cast<U32>(bits));
}
double as_f64(U64 bits) {
  return std::bit_cast<double>(bits);
}
U64 bits_of(float x) {
  return std::isnan(x) ? 0x7fffffffu : std::bit_cast<U32>(x);
}
U64 bits_of(double x) {
  return std::bit_cast<U64>(x);
}

float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
float saturate(float x) {
  return x > 0 ? std::min(x, 1.0f) : 0.0f;
}

const std::vector<U32>& f32_edges() {
  static const std::vector<U32> edges = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                                         0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x40490fdb,
                                         0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                                         0x7f800001, 0x4b800000, 0xcb000001, 0x33800000, 0x20000000, 0x5f000000};
  return edges;
}

std::vector<Inputs> f32_inputs() {
  std::vector<Inputs> inputs;
  for (const U32 a : f32_edges()) {
    for (const U32 b : f32_edges()) inputs.push_back({a, b, f32_edges()[(inputs.size() * 7 + 3) % f32_edges().size()]});
  }
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    // Exponents close together, so that sums cancel and products do not overflow.
    const auto near = [&] { return (random() & 0x807fffffu) | (118 + random() % 18) << 23; };
    inputs.push_back({near(), near(), near()});
  }
  return inputs;
}

std::vector<Inputs> f64_inputs() {
  const std::vector<double> edges = {0.0,    -0.0,   1.0,      -1.5,      3e-310, -2e-308, 1e300,
                                     -1e308, 5e-324, INFINITY, -INFINITY, NAN,    0.1,     123456789.25};
  std::vector<Inputs> inputs;
  for (const double a : edges) {
    for (const double b : edges)
      inputs.push_back({bits_of(a), bits_of(b), bits_of(edges[(inputs.size() * 5 + 2) % edges.size()])});
  }
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> value(-4, 4);
  for (int i = 0; i < 1000; ++i)
    inputs.push_back({bits_of(value(random)), bits_of(value(random)), bits_of(value(random))});
  return inputs;
}

using Expected = std::function<U64(U64, U64, U64)>;

void check(const std::string& instruction, int bits, const std::vector<Inputs>& inputs, const Expected& expected) {
  INFO(instruction);
  for (const Simd simd : all_simd()) {
    const auto got = run_snippet(instruction, bits, inputs, simd);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      U64 wanted = expected(inputs[i].a, inputs[i].b, inputs[i].c);
      if (bits < 64) wanted &= (1ull << bits) - 1;
      // Two NaNs of f64 are equal here: which payload survives is the hardware's choice.
      if (got[i] == wanted || (bits == 64 && std::isnan(as_f64(got[i])) && std::isnan(as_f64(wanted)))) continue;
      INFO(std::hex << "a=" << inputs[i].a << " b=" << inputs[i].b << " c=" << inputs[i].c);
      REQUIRE(got[i] == wanted);
    }
  }
  SUCCEED();
}

template <class F>
auto in_mode(int mode, F compute) {
  std::fesetround(mode);
  const volatile auto result = compute();
  std::fesetround(FE_TONEAREST);
  return result + 0;
}
volatile float g_a, g_b, g_c;
volatile double g_x, g_y;

}  // namespace

TEST_CASE("f32 arithmetic is IEEE with canonical NaNs") {
  const auto inputs = f32_inputs();
  check("add.f32 d32, a32, b32;", 32, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f32(a) + as_f32(b)); });
  check("sub.rn.f32 d32, a32, b32;", 32, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f32(a) - as_f32(b)); });
  check("mul.f32 d32, a32, b32;", 32, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f32(a) * as_f32(b)); });
  check("fma.rn.f32 d32, a32, b32, c32;", 32, inputs,
        [](U64 a, U64 b, U64 c) { return bits_of(std::fma(as_f32(a), as_f32(b), as_f32(c))); });
  check("div.rn.f32 d32, a32, b32;", 32, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f32(a) / as_f32(b)); });
  check("rcp.rn.f32 d32, a32;", 32, inputs, [](U64 a, U64, U64) { return bits_of(1.0f / as_f32(a)); });
  check("sqrt.rn.f32 d32, a32;", 32, inputs, [](U64 a, U64, U64) { return bits_of(std::sqrt(as_f32(a))); });
}

TEST_CASE("ftz flushes operands and results, sat clamps to [0, 1] and NaN to zero") {
  const auto inputs = f32_inputs();
  check("add.ftz.f32 d32, a32, b32;", 32, inputs,
        [](U64 a, U64 b, U64) { return bits_of(flush(flush(as_f32(a)) + flush(as_f32(b)))); });
  check("mul.ftz.f32 d32, a32, b32;", 32, inputs,
        [](U64 a, U64 b, U64) { return bits_of(flush(flush(as_f32(a)) * flush(as_f32(b)))); });
  check("fma.rn.ftz.sat.f32 d32, a32, b32, c32;", 32, inputs, [](U64 a, U64 b, U64 c) {
    return bits_of(saturate(flush(std::fma(flush(as_f32(a)), flush(as_f32(b)), flush(as_f32(c))))));
  });
  check("add.sat.f32 d32, a32, b32;", 32, inputs,
        [](U64 a, U64 b, U64) { return bits_of(saturate(as_f32(a) + as_f32(b))); });
}

TEST_CASE("directed rounding modes round in their direction") {
  const auto inputs = f32_inputs();
  const auto sum = [](U64 a, U64 b) {
    g_a = as_f32(a);
    g_b = as_f32(b);
    const volatile float result = g_a + g_b;
    return bits_of(static_cast<float>(result));
  };
  check("add.rz.f32 d32, a32, b32;", 32, inputs,
        [&](U64 a, U64 b, U64) { return in_mode(FE_TOWARDZERO, [&] { return sum(a, b); }); });
  check("add.rm.f32 d32, a32, b32;", 32, inputs,
        [&](U64 a, U64 b, U64) { return in_mode(FE_DOWNWARD, [&] { return sum(a, b); }); });
  check("fma.rp.f32 d32, a32, b32, c32;", 32, inputs, [&](U64 a, U64 b, U64 c) {
    return in_mode(FE_UPWARD, [&] {
      g_a = as_f32(a);
      g_b = as_f32(b);
      g_c = as_f32(c);
      return bits_of(std::fma(g_a, g_b, g_c));
    });
  });
  check("div.rz.f64 d64, a64, b64;", 64, f64_inputs(), [&](U64 a, U64 b, U64) {
    return in_mode(FE_TOWARDZERO, [&] {
      g_x = as_f64(a);
      g_y = as_f64(b);
      const volatile double quotient = g_x / g_y;
      return bits_of(static_cast<double>(quotient));
    });
  });
  check("cvt.rz.f32.s32 d32, a32;", 32, inputs, [&](U64 a, U64, U64) {
    return in_mode(FE_TOWARDZERO, [&] {
      const volatile std::int32_t value = static_cast<std::int32_t>(a);
      const volatile float result = static_cast<float>(value);
      return bits_of(result);
    });
  });
}

TEST_CASE("f64 arithmetic is IEEE") {
  const auto inputs = f64_inputs();
  check("add.f64 d64, a64, b64;", 64, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f64(a) + as_f64(b)); });
  check("mul.rn.f64 d64, a64, b64;", 64, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f64(a) * as_f64(b)); });
  check("fma.rn.f64 d64, a64, b64, c64;", 64, inputs,
        [](U64 a, U64 b, U64 c) { return bits_of(std::fma(as_f64(a), as_f64(b), as_f64(c))); });
  check("div.rn.f64 d64, a64, b64;", 64, inputs, [](U64 a, U64 b, U64) { return bits_of(as_f64(a) / as_f64(b)); });
  check("sqrt.rn.f64 d64, a64;", 64, inputs, [](U64 a, U64, U64) { return bits_of(std::sqrt(as_f64(a))); });
  check("max.f64 d64, a64, b64;", 64, inputs, [](U64 a, U64 b, U64) {
    const double x = as_f64(a), y = as_f64(b);
    if (x == 0 && y == 0) return bits_of(std::signbit(x) && std::signbit(y) ? -0.0 : 0.0);
    return bits_of(std::fmax(x, y));
  });
  check("abs.f64 d64, a64;", 64, inputs,
        [](U64 a, U64, U64) { return (a & ~(1ull << 63)) > 0x7ff0000000000000u ? a | 1ull << 51 : a & ~(1ull << 63); });
}

TEST_CASE("f32 minimum and maximum drop a NaN, keep it with .NaN, and order the zeros") {
  const auto inputs = f32_inputs();
  const auto least = [](float x, float y) {
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) ? y : x;  // A signalling NaN too, which std::fmin treats differently.
    if (x == 0 && y == 0) return std::signbit(x) || std::signbit(y) ? -0.0f : 0.0f;
    return std::fmin(x, y);
  };
  check("min.f32 d32, a32, b32;", 32, inputs, [&](U64 a, U64 b, U64) { return bits_of(least(as_f32(a), as_f32(b))); });
  check("min.NaN.f32 d32, a32, b32;", 32, inputs, [&](U64 a, U64 b, U64) {
    return std::isnan(as_f32(a)) || std::isnan(as_f32(b)) ? 0x7fffffffull : bits_of(least(as_f32(a), as_f32(b)));
  });
  check("min.ftz.f32 d32, a32, b32;", 32, inputs,
        [&](U64 a, U64 b, U64) { return bits_of(least(flush(as_f32(a)), flush(as_f32(b)))); });
  check("neg.f32 d32, a32;", 32, inputs,
        [](U64 a, U64, U64) { return (a & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : a ^ 0x80000000u; });
  check("abs.ftz.f32 d32, a32;", 32, inputs, [](U64 a, U64, U64) {
    const U32 size = std::bit_cast<U32>(flush(as_f32(a))) & 0x7fffffffu;
    return size > 0x7f800000u ? 0x7fffffffu : size;
  });
  check("copysign.f32 d32, a32, b32;", 32, inputs,
        [](U64 a, U64 b, U64) { return (a & 0x80000000u) | (b & 0x7fffffffu); });
}

TEST_CASE("floating-point comparisons with NaN give the result that the operator specifies") {
  const auto inputs = f32_inputs();
  const auto test = [&](const std::string& op, auto holds) {
    check("setp." + op + ".f32 r, a32, b32; selp.u32 d32, 1, 0, r;", 32, inputs,
          [holds](U64 a, U64 b, U64) { return U64(holds(as_f32(a), as_f32(b))); });
  };
  test("eq", [](float a, float b) { return a == b; });
  test("ne", [](float a, float b) { return !std::isnan(a) && !std::isnan(b) && a != b; });
  test("lt", [](float a, float b) { return a < b; });
  test("ge", [](float a, float b) { return a >= b; });
  test("equ", [](float a, float b) { return !(a < b || a > b); });
  test("neu", [](float a, float b) { return !(a == b); });
  test("ltu", [](float a, float b) { return !(a >= b); });
  test("gtu", [](float a, float b) { return !(a <= b); });
  test("num", [](float a, float b) { return !std::isnan(a) && !std::isnan(b); });
  test("nan", [](float a, float b) { return std::isnan(a) || std::isnan(b); });
  check("setp.gt.ftz.f32 r, a32, b32; selp.u32 d32, 1, 0, r;", 32, inputs,
        [](U64 a, U64 b, U64) { return U64(flush(as_f32(a)) > flush(as_f32(b))); });
  check("set.le.f32.f32 d32, a32, b32;", 32, inputs,
        [](U64 a, U64 b, U64) { return as_f32(a) <= as_f32(b) ? 0x3f800000u : 0u; });
  check("testp.subnormal.f32 r, a32; selp.u32 d32, 1, 0, r;", 32, inputs,
        [](U64 a, U64, U64) { return U64(std::fpclassify(as_f32(a)) == FP_SUBNORMAL); });
  check("testp.number.f64 r, a64; selp.u32 d32, 1, 0, r;", 32, f64_inputs(),
        [](U64 a, U64, U64) { return U64(!std::isnan(as_f64(a))); });
}

TEST_CASE("conversions between f32, f64 and integers saturate and round as named") {
  const auto singles = f32_inputs();
  const auto doubles = f64_inputs();
  check("cvt.f64.f32 d64, a32;", 64, singles, [](U64 a, U64, U64) { return bits_of(static_cast<double>(as_f32(a))); });
  check("cvt.rn.f32.f64 d32, a64;", 32, doubles,
        [](U64 a, U64, U64) { return U64(std::bit_cast<U32>(rounded_to_f32(as_f64(a), Rounding::rn))); });
  check("cvt.rz.f32.f64 d32, a64;", 32, doubles,
        [](U64 a, U64, U64) { return U64(std::bit_cast<U32>(rounded_to_f32(as_f64(a), Rounding::rz))); });
  const auto to_s32 = [](double x) -> U64 {
    if (std::isnan(x)) return 0ull;
    return U64(U32(std::int32_t(std::min(std::max(x, -2147483648.0), 2147483647.0))));
  };
  check("cvt.rzi.s32.f32 d32, a32;", 32, singles,
        [&](U64 a, U64, U64) { return to_s32(std::trunc(double(as_f32(a)))); });
  check("cvt.rni.s32.f32 d32, a32;", 32, singles,
        [&](U64 a, U64, U64) { return to_s32(std::nearbyint(double(as_f32(a)))); });
  check("cvt.rmi.s32.f32 d32, a32;", 32, singles,
        [&](U64 a, U64, U64) { return to_s32(std::floor(double(as_f32(a)))); });
  check("cvt.rpi.s32.f64 d32, a64;", 32, doubles,
        [&](U64 a, U64, U64) { return std::isnan(as_f64(a)) ? U64{0x80000000} : to_s32(std::ceil(as_f64(a))); });
  check("cvt.rzi.u8.f32 d32, a32;", 32, singles, [](U64 a, U64, U64) {
    const float x = std::trunc(as_f32(a));
    return std::isnan(x) ? 0ull : U64(std::min(std::max(x, 0.0f), 255.0f));
  });
  check("cvt.rzi.u64.f64 d64, a64;", 64, doubles, [](U64 a, U64, U64) {
    const double x = std::trunc(as_f64(a));
    if (std::isnan(x)) return 1ull << 63;
    if (x <= 0) return 0ull;
    return x >= 18446744073709551616.0 ? ~0ull : U64(x);
  });
  check("cvt.rpi.ftz.s32.f32 d32, a32;", 32, singles,
        [&](U64 a, U64, U64) { return to_s32(std::ceil(double(flush(as_f32(a))))); });
  check("cvt.rn.f32.u32 d32, a32;", 32, singles, [](U64 a, U64, U64) { return bits_of(static_cast<float>(U32(a))); });
  check("cvt.rn.f64.s64 d64, a64;", 64, doubles,
        [](U64 a, U64, U64) { return bits_of(static_cast<double>(std::int64_t(a))); });
  check("cvt.rn.f32.u64 d32, a64;", 32, doubles, [](U64 a, U64, U64) { return bits_of(static_cast<float>(a)); });
  check("cvt.rni.f32.f32 d32, a32;", 32, singles, [](U64 a, U64, U64) { return bits_of(std::nearbyint(as_f32(a))); });
  check("cvt.sat.f32.f32 d32, a32;", 32, singles, [](U64 a, U64, U64) { return bits_of(saturate(as_f32(a))); });
}

TEST_CASE("conversions to and from f16, bf16 and 8-bit pairs agree with evaluator/numbers") {
  const auto inputs = f32_inputs();
  check("cvt.rn.f16.f32 d16, a32;", 16, inputs, [](U64 a, U64, U64) { return U64(f16_from_f32(as_f32(a))); });
  check("cvt.rz.f16.f32 d16, a32;", 16, inputs,
        [](U64 a, U64, U64) { return U64(f16_from_f32(as_f32(a), {Rounding::rz})); });
  check("cvt.rn.relu.bf16.f32 d16, a32;", 16, inputs, [](U64 a, U64, U64) {
    return U64(bf16_from_f32(as_f32(a), {Rounding::rn, false, true}));
  });
  check("cvt.f32.f16 d32, a16;", 32, inputs,
        [](U64 a, U64, U64) { return U64(std::bit_cast<U32>(f32_from_f16(std::uint16_t(a)))); });
  check("cvt.rn.f16x2.f32 d32, a32, b32;", 32, inputs,
        [](U64 a, U64 b, U64) { return U64(f16_from_f32(as_f32(a))) << 16 | f16_from_f32(as_f32(b)); });
  check("cvt.rn.satfinite.e4m3x2.f32 d16, a32, b32;", 16, inputs,
        [](U64 a, U64 b, U64) { return U64(e4m3_from_f32(as_f32(a))) << 8 | e4m3_from_f32(as_f32(b)); });
  check("cvt.rn.f16x2.e5m2x2 d32, a16;", 32, inputs, [](U64 a, U64, U64) {
    return U64(f16_from_e5m2(std::uint8_t(a >> 8))) << 16 | f16_from_e5m2(std::uint8_t(a));
  });
  check("cvt.rna.tf32.f32 d32, a32;", 32, inputs,
        [](U64 a, U64, U64) { return U64(tf32_from_f32(as_f32(a), {Rounding::rna})); });
  check("cvt.rn.f16.s32 d16, a32;", 16, inputs, [](U64 a, U64, U64) { return U64(f16_from_f64(std::int32_t(a))); });
  check("cvt.f64.f16 d64, a16;", 64, inputs,
        [](U64 a, U64, U64) { return bits_of(double(f32_from_f16(std::uint16_t(a)))); });
  check("cvt.rzi.s32.f16 d32, a16;", 32, inputs, [](U64 a, U64, U64) {
    const float x = f32_from_f16(std::uint16_t(a));
    return std::isnan(x) ? 0ull
                         : U64(U32(std::int32_t(std::min(std::max(std::trunc(x), -2147483648.0f), 2147483520.0f)))) |
                               (x == INFINITY ? 0x7fffffffull : 0);
  });
}

namespace {

/// Pairs and triples of halves: edges, then random ones whose exponents lie near each other.
std::vector<Inputs> half_inputs() {
  const std::vector<U32> edges = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x7bff,
                                  0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7f80, 0xff80, 0x0080, 0x4248};
  std::vector<Inputs> inputs;
  for (const U32 a : edges) {
    for (const U32 b : edges) {
      for (const U32 c : edges) inputs.push_back({a | c << 16, b | a << 16, c | b << 16});
    }
  }
  std::mt19937 random(9);
  for (int i = 0; i < 60000; ++i) inputs.push_back({random(), random(), random()});
  return inputs;
}

/// One rounding of an exact result: f16 in double is exact for sums and products, and long double holds a
/// bf16 fma.
U32 f16_exactly(double x) {
  return std::isnan(x) ? 0x7fffu : f16_from_f64(x);
}
U32 bf16_exactly(double x) {
  return std::isnan(x) ? 0x7fffu : bf16_from_f64(x);
}
double f16_value(U64 bits) {
  return f32_from_f16(static_cast<std::uint16_t>(bits));
}
double bf16_value(U64 bits) {
  return f32_from_bf16(static_cast<std::uint16_t>(bits));
}

template <class One>
Expected on_halves(One one) {
  return [one](U64 a, U64 b, U64 c) {
    return U64(one(a & 0xffff, b & 0xffff, c & 0xffff)) | U64(one(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff))
                                                              << 16;
  };
}

}  // namespace

TEST_CASE("f16 arithmetic rounds once") {
  const auto inputs = half_inputs();
  const auto sum = [](U64 a, U64 b, U64) { return f16_exactly(f16_value(a) + f16_value(b)); };
  const auto product = [](U64 a, U64 b, U64) { return f16_exactly(f16_value(a) * f16_value(b)); };
  // The sum of a product of 22 bits and a half spans at most 64 bits: exact in long double.
  const auto fma = [](U64 a, U64 b, U64 c) {
    const long double exact = static_cast<long double>(f16_value(a)) * f16_value(b) + f16_value(c);
    double nearest = static_cast<double>(exact);
    if (static_cast<long double>(nearest) != exact && std::isfinite(nearest)) {
      // To odd, so that the second rounding is harmless.
      const U64 bits = std::bit_cast<U64>(nearest);
      if ((bits & 1) == 0)
        nearest = std::nextafter(nearest, static_cast<long double>(nearest) < exact ? INFINITY : -INFINITY);
    }
    return f16_exactly(nearest);
  };
  check("add.f16x2 d32, a32, b32;", 32, inputs, on_halves(sum));
  check("mul.rn.f16x2 d32, a32, b32;", 32, inputs, on_halves(product));
  check("fma.rn.f16x2 d32, a32, b32, c32;", 32, inputs, on_halves(fma));
  check("fma.rn.f16 d16, a16, b16, c16;", 16, inputs,
        [&](U64 a, U64 b, U64 c) { return U64(fma(a & 0xffff, b & 0xffff, c & 0xffff)); });
  check("fma.rn.relu.f16x2 d32, a32, b32, c32;", 32, inputs, on_halves([&](U64 a, U64 b, U64 c) {
          const U32 result = fma(a, b, c);
          return (result & 0x8000) != 0 && (result & 0x7fff) <= 0x7c00 ? 0u : result;
        }));
  check("sub.f16 d16, a16, b16;", 16, inputs,
        [](U64 a, U64 b, U64) { return U64(f16_exactly(f16_value(a) - f16_value(b))); });
}

TEST_CASE("bf16 arithmetic rounds once") {
  const auto inputs = half_inputs();
  const auto round = [](long double exact) {
    // A bf16 fma is exact in 64 bits or decided by the sign of what is lost; to odd in double, then once.
    double nearest = static_cast<double>(exact);
    if (static_cast<long double>(nearest) != exact && std::isfinite(nearest) &&
        (std::bit_cast<U64>(nearest) & 1) == 0) {
      nearest = std::nextafter(nearest, static_cast<long double>(nearest) < exact ? INFINITY : -INFINITY);
    }
    return bf16_exactly(nearest);
  };
  check("add.bf16x2 d32, a32, b32;", 32, inputs, on_halves([&](U64 a, U64 b, U64) {
          const double x = bf16_value(a), y = bf16_value(b);
          const double sum = x + y;
          // Where even 64 bits do not hold the sum, the smaller operand only decides the direction.
          const double lost = std::fabs(x) > std::fabs(y) ? y - (sum - x) : x - (sum - y);
          double odd = sum;
          if (std::isfinite(sum) && lost != 0 && (std::bit_cast<U64>(sum) & 1) == 0)
            odd = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
          return bf16_exactly(odd);
        }));
  check("mul.bf16x2 d32, a32, b32;", 32, inputs,
        on_halves([&](U64 a, U64 b, U64) { return round(static_cast<long double>(bf16_value(a)) * bf16_value(b)); }));
  check("fma.rn.bf16x2 d32, a32, b32, c32;", 32, inputs, on_halves([&](U64 a, U64 b, U64 c) {
          const double product = bf16_value(a) * bf16_value(b), addend = bf16_value(c);
          const double sum = product + addend;
          const double lost =
              std::fabs(product) > std::fabs(addend) ? addend - (sum - product) : product - (sum - addend);
          double odd = sum;
          if (std::isfinite(sum) && lost != 0 && (std::bit_cast<U64>(sum) & 1) == 0)
            odd = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
          return bf16_exactly(odd);
        }));
}

TEST_CASE("half minimum, maximum and comparison") {
  const auto inputs = half_inputs();
  const auto largest = [](U64 a, U64 b, U64) -> U32 {
    const double x = f16_value(a), y = f16_value(b);
    if (std::isnan(x)) return std::isnan(y) ? 0x7fff : U32(b);
    if (std::isnan(y)) return U32(a);
    if (x == 0 && y == 0) return U32(a & b);
    return x > y ? U32(a) : U32(b);
  };
  check("max.f16x2 d32, a32, b32;", 32, inputs, on_halves(largest));
  check("max.NaN.f16x2 d32, a32, b32;", 32, inputs, on_halves([&](U64 a, U64 b, U64 c) {
          return std::isnan(f16_value(a)) || std::isnan(f16_value(b)) ? 0x7fffu : largest(a, b, c);
        }));
  check("neg.bf16x2 d32, a32;", 32, inputs, [](U64 a, U64, U64) {
    const auto negated = [](U64 half) { return (half & 0x7fffu) > 0x7f80u ? 0x7fffu : half ^ 0x8000u; };
    return negated(a & 0xffffu) | negated(a >> 16 & 0xffffu) << 16;
  });
  check("setp.lt.f16x2 r|p, a32, b32; selp.u32 d32, 1, 0, r; @p add.u32 d32, d32, 2;", 32, inputs,
        [](U64 a, U64 b, U64) {
          return U64(f16_value(a & 0xffff) < f16_value(b & 0xffff)) +
                 2 * U64(f16_value(a >> 16 & 0xffff) < f16_value(b >> 16 & 0xffff));
        });
  check("set.geu.f16x2.f16x2 d32, a32, b32;", 32, inputs,
        on_halves([](U64 a, U64 b, U64) { return !(f16_value(a) < f16_value(b)) ? 0x3c00u : 0u; }));
}

TEST_CASE("approximate functions are close to the exact values and follow the special values") {
  std::vector<Inputs> inputs;
  for (int i = -600; i <= 600; ++i)
    inputs.push_back({bits_of(0.03125f * static_cast<float>(i)), bits_of(1.5f + static_cast<float>(i)), 0});
  const auto near = [&](const std::string& instruction, auto exact, double tolerance) {
    INFO(instruction);
    const auto got = run_snippet(instruction, 32, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double wanted = exact(static_cast<double>(as_f32(inputs[i].a)), static_cast<double>(as_f32(inputs[i].b)));
      if (std::isnan(wanted) || std::isinf(wanted)) continue;
      INFO(as_f32(inputs[i].a));
      REQUIRE(std::fabs(as_f32(got[i]) - wanted) <= tolerance * std::max(1.0, std::fabs(wanted)));
    }
    SUCCEED();
  };
  near(
      "ex2.approx.ftz.f32 d32, a32;", [](double a, double) { return std::exp2(a); }, 3e-7);
  near(
      "tanh.approx.f32 d32, a32;", [](double a, double) { return std::tanh(a); }, 6e-4);
  near(
      "rcp.approx.f32 d32, b32;", [](double, double b) { return 1 / b; }, 2e-7);
  near(
      "div.approx.f32 d32, a32, b32;", [](double a, double b) { return a / b; }, 3e-7);
  near(
      "div.full.ftz.f32 d32, a32, b32;", [](double a, double b) { return a / b; }, 3e-7);
  near(
      "sin.approx.f32 d32, a32;", [](double a, double) { return std::fabs(a) <= 3.14159 ? std::sin(a) : NAN; }, 1e-6);
  const auto huge =
      run_snippet("div.approx.f32 d32, a32, b32;", 32,
                  {{bits_of(0x1p127f), bits_of(0x1p127f), 0}, {bits_of(0x1p-130f), bits_of(0x1p-130f), 0}});
  CHECK(as_f32(huge[0]) == 0.0f);  // As PTX specifies for divisors beyond 2^126.
  CHECK(as_f32(huge[1]) == 1.0f);
  CHECK(as_f32(run_snippet("ex2.approx.f32 d32, a32;", 32, {{0xff800000u, 0, 0}})[0]) == 0.0f);
}

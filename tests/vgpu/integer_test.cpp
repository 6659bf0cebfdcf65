#include <bit>
#include <functional>
#include <limits>

#include "evaluator/vgpu/ptx/load_error.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo::vgpu;

namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

/// Values at the edges of every width, in all pairs, with a third that varies.
const std::vector<Inputs>& edge_inputs() {
  static const std::vector<Inputs> all = [] {
    const std::vector<U64> edges = {0,
                                    1,
                                    2,
                                    7,
                                    31,
                                    32,
                                    33,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x10000,
                                    0x7fffff,
                                    0x800000,
                                    0x7fffffff,
                                    0x80000000,
                                    0xfffffffe,
                                    0xffffffff,
                                    0x100000000,
                                    0x123456789abcdef0,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    0xfedcba9876543210};
    std::vector<Inputs> inputs;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      for (std::size_t j = 0; j < edges.size(); ++j)
        inputs.push_back({edges[i], edges[j], edges[(3 * i + 5 * j + 1) % edges.size()]});
    }
    return inputs;
  }();
  return all;
}

using Expected = std::function<U64(U64, U64, U64)>;

void check(const std::string& instruction, int bits, const Expected& expected) {
  INFO(instruction);
  const auto& inputs = edge_inputs();
  for (const Simd simd : all_simd()) {
    const auto got = run_snippet(instruction, bits, inputs, simd);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      U64 wanted = expected(inputs[i].a, inputs[i].b, inputs[i].c);
      if (bits < 64) wanted &= (1ull << bits) - 1;
      if (got[i] == wanted) continue;
      INFO(std::hex << "a=" << inputs[i].a << " b=" << inputs[i].b << " c=" << inputs[i].c);
      REQUIRE(got[i] == wanted);
    }
  }
  SUCCEED();
}

S64 clamp_s32(S64 value) {
  return std::min<S64>(std::max<S64>(value, std::numeric_limits<S32>::min()), std::numeric_limits<S32>::max());
}
__extension__ using S128 = __int128;
__extension__ using U128 = unsigned __int128;

}  // namespace

TEST_CASE("integer sums, differences and products wrap and widen as PTX specifies") {
  check("add.u32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U32(a) + U32(b); });
  check("add.s16 d16, a16, b16;", 16, [](U64 a, U64 b, U64) { return U16(U16(a) + U16(b)); });
  check("add.u64 d64, a64, b64;", 64, [](U64 a, U64 b, U64) { return a + b; });
  check("add.sat.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(clamp_s32(S64(S32(a)) + S32(b))); });
  check("sub.sat.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(clamp_s32(S64(S32(a)) - S32(b))); });
  check("sub.s64 d64, a64, b64;", 64, [](U64 a, U64 b, U64) { return a - b; });
  check("mul.lo.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U32(a) * U32(b); });
  check("mul.hi.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(S64(S32(a)) * S32(b) >> 32); });
  check("mul.hi.u32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(U32(a)) * U32(b) >> 32; });
  check("mul.hi.s64 d64, a64, b64;", 64, [](U64 a, U64 b, U64) { return U64(S128(S64(a)) * S64(b) >> 64); });
  check("mul.hi.u64 d64, a64, b64;", 64, [](U64 a, U64 b, U64) { return U64(U128(a) * b >> 64); });
  check("mul.wide.s16 d32, a16, b16;", 32, [](U64 a, U64 b, U64) { return U64(S32(S16(a)) * S16(b)); });
  check("mul.wide.u16 d32, a16, b16;", 32, [](U64 a, U64 b, U64) { return U32(U16(a)) * U16(b); });
  check("mul.wide.s32 d64, a32, b32;", 64, [](U64 a, U64 b, U64) { return U64(S64(S32(a)) * S32(b)); });
  check("mad.lo.u32 d32, a32, b32, c32;", 32, [](U64 a, U64 b, U64 c) { return U32(a) * U32(b) + U32(c); });
  check("mad.hi.s32 d32, a32, b32, c32;", 32,
        [](U64 a, U64 b, U64 c) { return U32(S64(S32(a)) * S32(b) >> 32) + U32(c); });
  check("mad.hi.sat.s32 d32, a32, b32, c32;", 32,
        [](U64 a, U64 b, U64 c) { return U64(clamp_s32((S64(S32(a)) * S32(b) >> 32) + S32(c))); });
  check("mad.wide.u32 d64, a32, b32, c64;", 64, [](U64 a, U64 b, U64 c) { return U64(U32(a)) * U32(b) + c; });
  check("mad.wide.s16 d32, a16, b16, c32;", 32, [](U64 a, U64 b, U64 c) { return U32(S32(S16(a)) * S16(b)) + U32(c); });
  check("mul24.lo.s32 d32, a32, b32;", 32,
        [](U64 a, U64 b, U64) { return U64(S64(S32(a) << 8 >> 8) * (S32(b) << 8 >> 8)); });
  check("mul24.hi.u32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(a & 0xffffff) * (b & 0xffffff) >> 16; });
  check("sad.s32 d32, a32, b32, c32;", 32,
        [](U64 a, U64 b, U64 c) { return U32(c) + (S32(a) < S32(b) ? U32(b) - U32(a) : U32(a) - U32(b)); });
}

TEST_CASE("division by zero and the overflowing quotient do not stop the interpreter") {
  check("div.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) {
    return S32(b) == 0 ? ~0ull : (S32(b) == -1 ? U64(0u - U32(a)) : U64(S32(a) / S32(b)));
  });
  check("div.u64 d64, a64, b64;", 64, [](U64 a, U64 b, U64) { return b == 0 ? ~0ull : a / b; });
  check("rem.s64 d64, a64, b64;", 64,
        [](U64 a, U64 b, U64) { return b == 0 ? ~0ull : (S64(b) == -1 ? 0 : U64(S64(a) % S64(b))); });
  check("rem.u16 d16, a16, b16;", 16, [](U64 a, U64 b, U64) { return U16(b) == 0 ? 0xffff : U16(a) % U16(b); });
}

TEST_CASE("integer minimum, maximum, sign and absolute value") {
  check("min.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(std::min(S32(a), S32(b))); });
  check("max.u64 d64, a64, b64;", 64, [](U64 a, U64 b, U64) { return std::max(a, b); });
  check("max.s16 d16, a16, b16;", 16, [](U64 a, U64 b, U64) { return U64(std::max(S16(a), S16(b))); });
  check("max.relu.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(std::max({S32(a), S32(b), 0})); });
  check("min.s16x2 d32, a32, b32;", 32, [](U64 a, U64 b, U64) {
    return U64(U16(std::min(S16(a), S16(b)))) | U64(U16(std::min(S16(a >> 16), S16(b >> 16)))) << 16;
  });
  check("abs.s32 d32, a32;", 32, [](U64 a, U64, U64) { return S32(a) < 0 ? 0u - U32(a) : U32(a); });
  check("neg.s64 d64, a64;", 64, [](U64 a, U64, U64) { return 0 - a; });
}

TEST_CASE("shifts clamp their amount at the width") {
  check("shl.b32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U32(b) > 31 ? 0 : U32(a) << U32(b); });
  check("shl.b16 d16, a16, b32;", 16, [](U64 a, U64 b, U64) { return U32(b) > 15 ? 0 : U16(a) << U32(b); });
  check("shr.u64 d64, a64, b32;", 64, [](U64 a, U64 b, U64) { return U32(b) > 63 ? 0 : a >> U32(b); });
  check("shr.s64 d64, a64, b32;", 64, [](U64 a, U64 b, U64) { return U64(S64(a) >> std::min(U32(b), 63u)); });
  check("shr.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return U64(S32(a) >> std::min(U32(b), 31u)); });
  check("shf.l.wrap.b32 d32, a32, b32, c32;", 32,
        [](U64 a, U64 b, U64 c) { return ((U64(U32(b)) << 32 | U32(a)) << (c & 31)) >> 32; });
  check("shf.r.clamp.b32 d32, a32, b32, c32;", 32,
        [](U64 a, U64 b, U64 c) { return (U64(U32(b)) << 32 | U32(a)) >> std::min(U32(c), 32u); });
}

TEST_CASE("lop3 evaluates its table for every combination of bits") {
  for (const int table : {0x00, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x3c, 0x55, 0xff, 0x2d}) {
    check("lop3.b32 d32, a32, b32, c32, " + std::to_string(table) + ";", 32, [table](U64 a, U64 b, U64 c) {
      U64 result = 0;
      for (int bit = 0; bit < 32; ++bit) {
        const int row = int(a >> bit & 1) << 2 | int(b >> bit & 1) << 1 | int(c >> bit & 1);
        result |= U64(table >> row & 1) << bit;
      }
      return result;
    });
  }
}

TEST_CASE("prmt selects bytes, replicates signs and supports every mode") {
  const auto pick = [](U64 a, U64 b, U32 selector) {
    const U64 both = U64(U32(b)) << 32 | U32(a);
    U64 result = 0;
    for (int i = 0; i < 4; ++i) {
      const U32 nibble = selector >> 4 * i & 15;
      U64 byte = both >> 8 * (nibble & 7) & 0xff;
      if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * i;
    }
    return result;
  };
  check("prmt.b32 d32, a32, b32, c32;", 32, [&](U64 a, U64 b, U64 c) { return pick(a, b, U32(c)); });
  check("prmt.b32 d32, a32, b32, 0x5410;", 32, [](U64 a, U64 b, U64) { return (a & 0xffff) | (b & 0xffff) << 16; });
  check("prmt.b32.f4e d32, a32, b32, c32;", 32, [&](U64 a, U64 b, U64 c) {
    const U32 n = c & 3;
    return pick(a, b, n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12);
  });
  check("prmt.b32.rc16 d32, a32, b32, c32;", 32,
        [](U64 a, U64, U64 c) { return (c & 1 ? a >> 16 & 0xffff : a & 0xffff) * 0x10001; });
}

TEST_CASE("bit fields are extracted with sign and inserted, also beyond the word's end") {
  const auto extract = [](U64 a, U64 b, U64 c, int top, bool is_signed) {
    // The routines for 64 bits look at all of position and length.
    const auto limited = [&](U64 x) { return int(top == 63 ? std::min<U64>(U32(x), 255) : x & 0xff); };
    const int at = limited(b), length = limited(c);
    const U64 sign = is_signed && length > 0 ? a >> std::min(at + length - 1, top) & 1 : 0;
    U64 result = 0;
    for (int i = 0; i <= top; ++i) result |= (i < length && at + i <= top ? a >> (at + i) & 1 : sign) << i;
    return result;
  };
  check("bfe.u32 d32, a32, b32, c32;", 32, [&](U64 a, U64 b, U64 c) { return extract(U32(a), b, c, 31, false); });
  check("bfe.s32 d32, a32, b32, c32;", 32, [&](U64 a, U64 b, U64 c) { return extract(U32(a), b, c, 31, true); });
  check("bfe.s64 d64, a64, b32, c32;", 64, [&](U64 a, U64 b, U64 c) { return extract(a, b, c, 63, true); });
  check("bfi.b32 d32, a32, b32, c32, 9;", 32, [](U64 a, U64 b, U64 c) {
    const int at = int(c & 0xff);
    U64 result = U32(b);
    for (int i = 0; i < 9 && at + i <= 31; ++i) result = (result & ~(1ull << (at + i))) | (a >> i & 1) << (at + i);
    return result;
  });
}

TEST_CASE("bits are counted, found and reversed") {
  check("popc.b64 d32, a64;", 32, [](U64 a, U64, U64) { return U64(std::popcount(a)); });
  check("clz.b32 d32, a32;", 32, [](U64 a, U64, U64) { return U64(std::countl_zero(U32(a))); });
  check("clz.b64 d32, a64;", 32, [](U64 a, U64, U64) { return U64(std::countl_zero(a)); });
  check("bfind.u32 d32, a32;", 32,
        [](U64 a, U64, U64) { return U32(a) == 0 ? ~0ull : U64(31 - std::countl_zero(U32(a))); });
  check("bfind.s32 d32, a32;", 32, [](U64 a, U64, U64) {
    const U32 bits = S32(a) < 0 ? ~U32(a) : U32(a);
    return bits == 0 ? ~0ull : U64(31 - std::countl_zero(bits));
  });
  check("bfind.shiftamt.u64 d32, a64;", 32, [](U64 a, U64, U64) { return a == 0 ? ~0ull : U64(std::countl_zero(a)); });
  check("brev.b32 d32, a32;", 32, [](U64 a, U64, U64) {
    U64 result = 0;
    for (int i = 0; i < 32; ++i) result |= (a >> i & 1) << (31 - i);
    return result;
  });
  check("bmsk.clamp.b32 d32, 4, 7;", 32, [](U64, U64, U64) { return U64{0x7f0}; });
  check("szext.clamp.s32 d32, a32, 5;", 32, [](U64 a, U64, U64) { return U64(S32(U32(a) << 27) >> 27); });
  check("fns.b32 d32, a32, 0, 2;", 32, [](U64 a, U64, U64) {
    const U32 rest = U32(a) & (U32(a) - 1);
    return rest == 0 ? ~0ull : U64(std::countr_zero(rest));
  });
}

TEST_CASE("dot products of bytes add in 32 bits") {
  check("dp4a.s32.s32 d32, a32, b32, c32;", 32, [](U64 a, U64 b, U64 c) {
    U32 sum = U32(c);
    for (int i = 0; i < 4; ++i) sum += U32(S32(std::int8_t(a >> 8 * i)) * std::int8_t(b >> 8 * i));
    return sum;
  });
  check("dp4a.u32.s32 d32, a32, b32, c32;", 32, [](U64 a, U64 b, U64 c) {
    U32 sum = U32(c);
    for (int i = 0; i < 4; ++i) sum += U32(S32(std::uint8_t(a >> 8 * i)) * std::int8_t(b >> 8 * i));
    return sum;
  });
  check("dp2a.hi.s32.u32 d32, a32, b32, c32;", 32, [](U64 a, U64 b, U64 c) {
    U32 sum = U32(c);
    for (int i = 0; i < 2; ++i) sum += U32(S32(S16(a >> 16 * i)) * std::uint8_t(b >> 8 * (i + 2)));
    return sum;
  });
}

TEST_CASE("carries pass from one instruction to the next") {
  // A 128-bit sum: the high word sees the low word's carry.
  check("add.cc.u64 d64, a64, b64; addc.u64 d64, a64, c64;", 64,
        [](U64 a, U64 b, U64 c) { return a + c + (a + b < a ? 1 : 0); });
  check("sub.cc.u32 d32, a32, b32; subc.u32 d32, c32, a32;", 32,
        [](U64 a, U64 b, U64 c) { return U32(c) - U32(a) - (U32(a) < U32(b) ? 1 : 0); });
  check("mad.lo.cc.u32 d32, a32, b32, c32; madc.hi.u32 d32, a32, b32, 0;", 32,
        [](U64 a, U64 b, U64 c) { return (U64(U32(a)) * U32(b) + U32(c)) >> 32; });
  check("add.cc.u32 d32, a32, b32; addc.cc.u32 d32, b32, c32; addc.u32 d32, 0, 0;", 32, [](U64 a, U64 b, U64 c) {
    const U64 low = U64(U32(a)) + U32(b);
    return (U64(U32(b)) + U32(c) + (low >> 32)) >> 32;
  });
}

TEST_CASE("integer conversions truncate, extend and saturate") {
  check("cvt.s64.s32 d64, a32;", 64, [](U64 a, U64, U64) { return U64(S64(S32(a))); });
  check("cvt.u64.u16 d64, a16;", 64, [](U64 a, U64, U64) { return U64(U16(a)); });
  check("cvt.s32.s8 d32, a32;", 32, [](U64 a, U64, U64) { return U64(S32(std::int8_t(a))); });
  check("cvt.s16.s64 d16, a64;", 16, [](U64 a, U64, U64) { return U64(U16(a)); });
  check("cvt.sat.u8.s32 d32, a32;", 32, [](U64 a, U64, U64) { return U64(std::min(std::max(S32(a), 0), 255)); });
  check("cvt.sat.s16.s64 d32, a64;", 32,
        [](U64 a, U64, U64) { return U64(S32(std::min<S64>(std::max<S64>(S64(a), -32768), 32767))); });
  check("cvt.pack.sat.s8.s32.b32 d32, a32, b32, c32;", 32, [](U64 a, U64 b, U64 c) {
    const auto clamp = [](S32 x) { return U64(std::uint8_t(std::min(std::max(x, -128), 127))); };
    return (c & 0xffff) << 16 | clamp(S32(a)) << 8 | clamp(S32(b));
  });
  check("mov.b64 {d32, b32}, a64;", 32, [](U64 a, U64, U64) { return a; });
  check("mov.b64 d64, {b32, a32};", 64, [](U64 a, U64 b, U64) { return U64(U32(a)) << 32 | U32(b); });
  check("mov.b32 d32, {a16, b16};", 32, [](U64 a, U64 b, U64) { return U64(U16(a)) | U64(U16(b)) << 16; });
}

TEST_CASE("comparisons combine with predicates and select") {
  check("setp.lt.s32 r, a32, b32; selp.u32 d32, 5, 9, r;", 32,
        [](U64 a, U64 b, U64) { return S32(a) < S32(b) ? 5 : 9; });
  check("setp.hi.u64 r, a64, b64; selp.b64 d64, a64, c64, r;", 64, [](U64 a, U64 b, U64 c) { return a > b ? a : c; });
  check("setp.ge.and.s16 r|p, a16, b16, q; selp.u32 d32, 1, 0, r; @p add.u32 d32, d32, 2;", 32, [](U64 a, U64 b, U64) {
    const bool holds = S16(a) >= S16(b), q = b != 0;
    return U64(holds && q) + 2 * U64(!holds && q);
  });
  check("setp.eq.xor.u32 r, a32, b32, !q; selp.u32 d32, 1, 0, r;", 32,
        [](U64 a, U64 b, U64) { return U64((U32(a) == U32(b)) != (b == 0)); });
  check("set.lt.u32.s32 d32, a32, b32;", 32, [](U64 a, U64 b, U64) { return S32(a) < S32(b) ? ~0ull : 0; });
  check("slct.u32.s32 d32, a32, b32, c32;", 32, [](U64 a, U64 b, U64 c) { return S32(c) >= 0 ? U32(a) : U32(b); });
  check("not.pred r, p; xor.pred r, r, q; selp.u32 d32, 1, 0, r;", 32,
        [](U64 a, U64 b, U64) { return U64((a == 0) != (b != 0)); });
}

TEST_CASE("video instructions read and write bytes and halves of registers") {
  struct Case {
    const char* snippet;
    std::uint64_t expected;
  };
  // a = 0x80ff7f01, b = 0x1234fffe, c = 0x11223344.
  const Case cases[] = {
      {"vadd.s32.u32.s32 d32, a32.b2, b32.h0;", 0xff - 2},
      {"vadd.s32.s32.s32.add d32, a32.b1, b32.b0, c32;", 0x7f - 2 + 0x11223344},
      {"vsub.u32.u32.u32.sat d32, a32.b0, b32.b1;", 0},
      {"vadd.u32.u32.u32.sat d32.b1, a32.b2, b32.b3, c32;", 0x1122ff44},
      {"vmax.s32.s32.s32 d32.h1, a32.h1, b32.h0, c32;", 0xffff3344},           // ptxas: the upper half
      {"vsub.s32.s32.s32.sat d32.b0, a32.b3, b32.b2, c32;", 0x1122337f},       // ptxas: as if above
      {"vshl.u32.u32.u32.sat.wrap d32.b0, a32.b0, b32.b3, c32;", 0x11223300},  // ptxas: 32 bits, cut
      {"vshl.u32.u32.u32.wrap d32, a32.b0, b32.b0;", 0x40000000},
      {"vshr.s32.s32.u32.clamp d32, a32, b32.b0;", 0xffffffff},
      {"vmad.s32.s32.s32 d32, a32.b3, -b32.h1, c32;", 0x80u * 0x1234 + 0x11223344},
      {"vmad.u32.u32.u32.shr7 d32, a32.h0, b32.b3, c32;", (0x7f01u * 0x12 + 0x11223344) >> 7},
      {"vmad.s32.s32.s32.po.sat d32, a32, b32, c32;", 0x80000000},
      {"vadd2.u32.u32.u32 d32.h1, a32.h20, b32.h13, c32;", 0x80fd3344},
      {"vabsdiff4.u32.u32.u32.add d32.b10, a32, b32, c32;", 0xfd + 0x80 + 0x11223344},
  };
  for (const Case& test : cases) {
    INFO(test.snippet);
    CHECK(run_snippet(test.snippet, 32, {{0x80ff7f01, 0x1234fffe, 0x11223344}}).at(0) == (test.expected & 0xffffffff));
  }
  CHECK_THROWS_AS(run_snippet("add.u32 d32, a32.b0, b32;", 32, {{}}), LoadError);
}

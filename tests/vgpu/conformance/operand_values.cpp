#include "tests/vgpu/conformance/operand_values.h"

#include <algorithm>

namespace evo::conformance {
namespace {

constexpr std::size_t kTuples = 512;

const std::vector<std::uint64_t>& edges_of(Kind kind) {
  static const std::vector<std::uint64_t> kF32{
      0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
      0x7f7fffff, 0x80000001, 0x00800000, 0x007fffff, 0xff7fffff, 0xffc01234, 0x7f800001, 0xffffffff,
      0x3f000000, 0x40490fdb, 0x3f800001, 0xbf7fffff, 0x80800000, 0x4b800000, 0x4f000000, 0xcf000000,
      0x5f000000, 0x33800000, 0x4effffff, 0x477fe000, 0x42fe0000, 0xc3150000, 0x3effffff, 0x4b000001};
  static const std::vector<std::uint64_t> kF64{
      0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000,
      0xfff0000000000000, 0x7ff8000000000000, 0x0000000000000001, 0x7fefffffffffffff, 0x800fffffffffffff,
      0x0010000000000000, 0xfff0000000000001, 0xffffffffffffffff, 0x3fe0000000000000, 0x3ff0000000000001,
      0x41dfffffffc00000, 0x43e0000000000000, 0xc1e0000000000000, 0x47efffffefffffff, 0x36a0000000000000,
      0x3810000000000000, 0x4330000000000001, 0x400921fb54442d18, 0x7ff4000000001234};
  static const std::vector<std::uint64_t> kF16{0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001,
                                               0x7bff, 0x83ff, 0x0400, 0xffff, 0x7c01, 0x3800, 0x3c01, 0x6400,
                                               0xfbff, 0x1400, 0x4248, 0x5bff, 0x2e66, 0x8400, 0x77ff, 0x3555};
  static const std::vector<std::uint64_t> kBf16{0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x0001,
                                                0x7f7f, 0x807f, 0x0080, 0xffff, 0x7f81, 0x3f00, 0x3f81, 0x4b80,
                                                0xff7f, 0x3380, 0x4049, 0x4f00, 0x3eaa, 0x8080, 0x7e00, 0x0180};
  static const std::vector<std::uint64_t> kI16{0,      1,   0xffff, 0x7fff, 0x8000, 2,  0xfffe,
                                               0x8001, 100, 0x00ff, 0xff00, 15,     16, 17};
  static const std::vector<std::uint64_t> kI32{0,          1,          0xffffffff, 0x7fffffff, 0x80000000, 2,
                                               0xfffffffe, 0x80000001, 31,         32,         33,         0xff,
                                               0x10000,    0xffff,     0x12345678, 0x80ff7f01, 255,        0x00ffffff};
  static const std::vector<std::uint64_t> kI64{0,
                                               1,
                                               0xffffffffffffffff,
                                               0x7fffffffffffffff,
                                               0x8000000000000000,
                                               2,
                                               0xfffffffffffffffe,
                                               0xffffffff,
                                               0x100000000,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff80000000,
                                               63,
                                               64,
                                               0x123456789abcdef0,
                                               0x8000000000000001,
                                               0x00ffffffffffffff,
                                               0x1fffffffffffff};
  static const std::vector<std::uint64_t> kSmall{0,  1,  31, 32,  33,         8, 16, 255,
                                                 63, 64, 65, 256, 0xffffffff, 4, 5,  0x80000000};
  static const std::vector<std::uint64_t> kAny{0,          0xffffffff, 0x80000000, 0x7fffffff,
                                               0x01234567, 0x3210,     0x7654,     0xfedc};
  static const std::vector<std::uint64_t> kNone{0};
  switch (kind) {
    case Kind::f32:
      return kF32;
    case Kind::f64:
      return kF64;
    case Kind::f16:
    case Kind::f16x2:
      return kF16;
    case Kind::bf16:
    case Kind::bf16x2:
      return kBf16;
    case Kind::i16:
    case Kind::i16x2:
      return kI16;
    case Kind::i32:
      return kI32;
    case Kind::i64:
      return kI64;
    case Kind::small:
      return kSmall;
    case Kind::e4m3x2:
    case Kind::e5m2x2:
    case Kind::any32:
      return kAny;
    case Kind::none:
      break;
  }
  return kNone;
}

std::uint64_t float_near_one(Random& r, int exponent_bits, int fraction_bits, int spread) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<std::uint64_t>(bias + r.between(-std::min(spread, bias), std::min(spread, bias)));
  const std::uint64_t fraction = r.next() >> (64 - fraction_bits);
  return std::uint64_t{r.coin()} << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction;
}

}  // namespace

std::uint64_t random_value(Random& r, Kind kind) {
  const auto pair = [&](Kind half) {
    const std::uint64_t low = random_value(r, half);
    return low | random_value(r, half) << 16;
  };
  const auto& edges = edges_of(kind);
  if (kind == Kind::none) return 0;
  if (kind == Kind::f16x2) return pair(Kind::f16);
  if (kind == Kind::bf16x2) return pair(Kind::bf16);
  if (kind == Kind::i16x2) return pair(Kind::i16);
  const int choice = r.below(3);
  if (choice == 0) return edges[static_cast<std::size_t>(r.below(static_cast<int>(edges.size())))];
  const bool moderate = choice == 1;
  switch (kind) {
    case Kind::f32:
      return moderate ? float_near_one(r, 8, 23, r.coin() ? 8 : 40) : r.bits();
    case Kind::f64:
      return moderate ? float_near_one(r, 11, 52, r.coin() ? 8 : 70) : r.next();
    case Kind::f16:
      return moderate ? float_near_one(r, 5, 10, 5) : r.bits() & 0xffffu;
    case Kind::bf16:
      return moderate ? float_near_one(r, 8, 7, 8) : r.bits() & 0xffffu;
    case Kind::i16:
      return moderate ? r.bits() & 0xffu : r.bits() & 0xffffu;
    case Kind::e4m3x2:
    case Kind::e5m2x2:
      return r.bits() & 0xffffu;
    case Kind::i64:
      return moderate ? r.next() >> r.below(64) : r.next();
    case Kind::small:
      return moderate || r.coin() ? r.bits() % 70u : r.bits();
    default:
      return moderate ? r.bits() >> r.below(32) : r.bits();
  }
}

std::vector<Tuple> tuples_of(const std::array<Kind, 3>& kinds) {
  Random random{0x5eed + static_cast<std::uint64_t>(kinds[0]) * 961 + static_cast<std::uint64_t>(kinds[1]) * 31 +
                static_cast<std::uint64_t>(kinds[2])};
  const int operands = kinds[2] != Kind::none ? 3 : kinds[1] != Kind::none ? 2 : 1;
  const std::size_t most = operands == 3 ? 6 : operands == 2 ? 16 : 64;
  std::array<std::vector<std::uint64_t>, 3> edges;
  for (std::size_t i = 0; i < 3; ++i) {
    edges[i] = edges_of(kinds[i]);
    edges[i].resize(std::min(most, edges[i].size()));
  }
  // Packed kinds have the edge in both halves.
  const auto packed = [](Kind kind, std::uint64_t value) {
    return kind == Kind::f16x2 || kind == Kind::bf16x2 || kind == Kind::i16x2 ? value | value << 16 : value;
  };
  std::vector<Tuple> tuples;
  for (const std::uint64_t a : edges[0])
    for (const std::uint64_t b : edges[1])
      for (const std::uint64_t c : edges[2])
        if (tuples.size() < kTuples) tuples.push_back({packed(kinds[0], a), packed(kinds[1], b), packed(kinds[2], c)});
  while (tuples.size() < kTuples)
    tuples.push_back({random_value(random, kinds[0]), random_value(random, kinds[1]), random_value(random, kinds[2])});
  return tuples;
}

}  // namespace evo::conformance

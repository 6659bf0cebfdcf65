#include "evaluator/vgpu/numbers/approximate.h"

#include <array>
#include <bit>

#include "evaluator/vgpu/numbers/approximate_tables.h"
#include "evaluator/vgpu/numbers/cpu_clones.h"
#include "evaluator/vgpu/numbers/row_conversions.h"

namespace evo::vgpu {
namespace {

constexpr std::uint32_t kSign = 0x80000000u;
constexpr std::uint32_t kMagnitude = 0x7fffffffu;
constexpr std::uint32_t kInfinity = 0x7f800000u;
constexpr std::uint32_t kNan = 0x7fffffffu;
constexpr std::uint32_t kSmallestNormal = 0x00800000u;
constexpr std::uint32_t kOne = 0x3f800000u;
constexpr std::uint32_t kFraction = 0x007fffffu;
// Of a double's upper word.
constexpr std::uint32_t kInfinityF64 = 0x7ff00000u;
constexpr std::uint32_t kSmallestNormalF64 = 0x00100000u;
constexpr std::uint32_t kFractionF64 = 0x000fffffu;

float as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
std::uint32_t as_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// ---- The interpolator: value + slope x + curve x^2 within a segment.

/// A table with one array for each field, so that a warp's lanes can gather from it. The scales turn the hardware's
/// integers, and the square's last column, into the units of `value`.
template <std::size_t Count>
struct SegmentTable {
  std::array<std::int64_t, Count> value{};
  std::array<std::int64_t, Count> slope{};
  std::array<std::int64_t, Count> curve{};

  constexpr SegmentTable(const std::array<Segment, Count>& segments, int slope_scale, int curve_scale) {
    for (std::size_t i = 0; i < Count; ++i) {
      value[i] = segments[i].value;
      slope[i] = std::int64_t{segments[i].slope} * slope_scale;
      curve[i] = std::int64_t{segments[i].curve} * curve_scale;
    }
  }
};

constexpr SegmentTable kEx2(kEx2Segments, 2, 2);
constexpr SegmentTable kRcp(kRcpSegments, 1, 2);
constexpr SegmentTable kRsqrt(kRsqrtSegments, 1, 2);
constexpr SegmentTable kLg2(kLg2Segments, 4, 8);
constexpr SegmentTable kSqrt(kSqrtSegments, 1, 2);
constexpr SegmentTable kSin(kSinSegments, 4, 8);
constexpr SegmentTable kTanh(kTanhSegments, 1, 2);

constexpr int kOffsetBits = 17;  ///< Of x within its segment.

/// The partial products of bit Bit of x with the bits above it that reach column 19, in units of that column.
template <int Bit>
[[gnu::always_inline]] inline std::uint32_t square_row(std::uint32_t x) {
  constexpr int kFirstColumn = 19;
  constexpr int kLowest = Bit + 1 > kFirstColumn - 1 - Bit ? Bit + 1 : kFirstColumn - 1 - Bit;
  std::uint32_t row = 0;
  if constexpr (kLowest < kOffsetBits) row = (x >> kLowest) << (kLowest + Bit + 1 - kFirstColumn);
  if constexpr (2 * Bit >= kFirstColumn) row += 1u << (2 * Bit - kFirstColumn);
  return row & (0u - ((x >> Bit) & 1u));
}

/// The hardware's squarer for 17 bits. It leaves out the partial products x_i x_j 2^(i + j + 1) and x_i 2^(2 i) below
/// column 19, and their carries.
[[gnu::always_inline]] inline std::uint32_t square(std::uint32_t x) {
  return square_row<2>(x) + square_row<3>(x) + square_row<4>(x) + square_row<5>(x) + square_row<6>(x) +
         square_row<7>(x) + square_row<8>(x) + square_row<9>(x) + square_row<10>(x) + square_row<11>(x) +
         square_row<12>(x) + square_row<13>(x) + square_row<14>(x) + square_row<15>(x) + square_row<16>(x);
}

template <std::size_t Count>
[[gnu::always_inline]] inline std::int64_t interpolate(const SegmentTable<Count>& table, std::uint32_t segment,
                                                       std::uint32_t x) {
  return table.value[segment] + table.slope[segment] * static_cast<std::int64_t>(x) +
         table.curve[segment] * static_cast<std::int64_t>(square(x));
}

/// |v| * 2^-bits as f32, cut towards zero. Exact in double: v has at most 53 bits.
[[gnu::always_inline]] inline std::uint32_t cut_to_f32(std::int64_t magnitude, double unit) {
  const double value = static_cast<double>(magnitude) * unit;
  const std::uint64_t kept = std::bit_cast<std::uint64_t>(value) & ~((std::uint64_t{1} << 29) - 1);
  return as_bits(static_cast<float>(std::bit_cast<double>(kept)));
}

// ---- One lane of each function of the multi-function unit, on bit patterns. Subnormals are flushed. There are no
// branches, so that loops over lanes vectorise.

[[gnu::always_inline]] inline std::uint32_t mufu_ex2(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & kMagnitude;
  // Fixed point with 23 fraction bits, cut. 2^160 lies far beyond either end of the range. Negative numbers are
  // complemented, without the carry unless their fraction is zero.
  const float size = as_float(magnitude > as_bits(160.f) ? as_bits(160.f) : magnitude);
  const std::int32_t fixed = static_cast<std::int32_t>(size * 0x1p23f);
  const std::int32_t complement = (fixed & static_cast<std::int32_t>(kFraction)) == 0 ? -fixed : ~fixed;
  const std::int32_t exponent_and_fraction = bits & kSign ? complement : fixed;
  const std::int32_t exponent = exponent_and_fraction >> 23;
  const std::uint32_t fraction = static_cast<std::uint32_t>(exponent_and_fraction) & kFraction;
  const auto significand =
      static_cast<std::int32_t>(interpolate(kEx2, fraction >> kOffsetBits, fraction & ((1u << kOffsetBits) - 1)) >> 16);
  std::uint32_t result = static_cast<std::uint32_t>(((exponent + 126) << 23) + significand);
  result = exponent < -126 ? 0 : result;
  result = exponent > 127 ? kInfinity : result;
  return magnitude > kInfinity ? kNan : result;
}

[[gnu::always_inline]] inline std::uint32_t mufu_rcp(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & kMagnitude;
  const std::uint32_t fraction = magnitude & kFraction;
  // 128 segments with 16 bits of offset: one bit fewer for the squarer.
  const auto significand =
      static_cast<std::int32_t>(interpolate(kRcp, fraction >> 16, (fraction & 0xffffu) << 1) >> 16);
  const std::int32_t field = 253 - static_cast<std::int32_t>(magnitude >> 23);
  const std::int32_t unsigned_result = (field - 1) * static_cast<std::int32_t>(kSmallestNormal) + significand;
  std::uint32_t result = static_cast<std::uint32_t>(unsigned_result);
  result = unsigned_result < static_cast<std::int32_t>(kSmallestNormal) ? 0 : result;
  result = magnitude < kSmallestNormal ? kInfinity : result;
  result = magnitude == kInfinity ? 0 : result;
  result |= bits & kSign;
  return magnitude > kInfinity ? kNan : result;
}

/// Where rsqrt and sqrt look in their tables: even exponents in the first half, odd ones in the second.
struct RootArgument {
  std::uint32_t segment;
  std::uint32_t offset;
  std::int32_t half_exponent;
};

[[gnu::always_inline]] inline RootArgument root_argument(std::uint32_t magnitude) {
  const std::int32_t exponent = static_cast<std::int32_t>(magnitude >> 23) - 127;
  const std::uint32_t fraction = magnitude & kFraction;
  return {(static_cast<std::uint32_t>(exponent & 1) << 6) + (fraction >> kOffsetBits),
          fraction & ((1u << kOffsetBits) - 1), exponent >> 1};
}

[[gnu::always_inline]] inline std::uint32_t mufu_rsqrt(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & kMagnitude;
  const RootArgument at = root_argument(magnitude);
  auto significand = static_cast<std::int32_t>(interpolate(kRsqrt, at.segment, at.offset) >> 16);
  significand = at.segment == 0 && at.offset == 0 ? 1 << 24 : significand;  // Exact for powers of four.
  std::uint32_t result = static_cast<std::uint32_t>(((125 - at.half_exponent) << 23) + significand);
  result = bits & kSign ? kNan : result;
  result = magnitude == kInfinity && !(bits & kSign) ? 0 : result;
  result = magnitude < kSmallestNormal ? kInfinity | (bits & kSign) : result;
  return magnitude > kInfinity ? kNan : result;
}

[[gnu::always_inline]] inline std::uint32_t mufu_sqrt(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & kMagnitude;
  const RootArgument at = root_argument(magnitude);
  const auto significand = static_cast<std::int32_t>(interpolate(kSqrt, at.segment, at.offset) >> 17);
  std::uint32_t result = static_cast<std::uint32_t>(((126 + at.half_exponent) << 23) + significand);
  result = bits & kSign ? kNan : result;
  result = magnitude == kInfinity && !(bits & kSign) ? kInfinity : result;
  result = magnitude < kSmallestNormal ? bits & kSign : result;
  return magnitude > kInfinity ? kNan : result;
}

[[gnu::always_inline]] inline std::uint32_t mufu_lg2(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & kMagnitude;
  const std::int64_t exponent = static_cast<std::int32_t>(magnitude >> 23) - 127;
  const std::uint32_t fraction = magnitude & kFraction;
  // In units of 2^-40. A negative sum is complemented without the carry.
  const std::int64_t sum =
      (exponent << 40) + interpolate(kLg2, fraction >> kOffsetBits, fraction & ((1u << kOffsetBits) - 1));
  std::uint32_t result = cut_to_f32(sum < 0 ? ~sum : sum, 0x1p-40) | (sum < 0 ? kSign : 0u);
  result = bits == kOne ? 0 : result;
  result = bits & kSign ? kNan : result;
  result = magnitude == kInfinity && !(bits & kSign) ? kInfinity : result;
  result = magnitude < kSmallestNormal ? kInfinity | kSign : result;
  return magnitude > kInfinity ? kNan : result;
}

/// sin (first_quadrant 0) or cos (1) of an angle in turns.
[[gnu::always_inline]] inline std::uint32_t mufu_sin(std::uint32_t turns, std::uint32_t first_quadrant) {
  const std::uint32_t magnitude = turns & kMagnitude;
  // Fixed point with 25 fraction bits, cut; beyond 2^30 turns there is no fraction.
  const float size = as_float(magnitude < as_bits(0x1p30f) ? magnitude : 0u);
  const auto fixed = static_cast<std::uint32_t>(static_cast<std::int64_t>(static_cast<double>(size) * 0x1p25));
  const std::uint32_t quadrant = ((fixed >> 23) + first_quadrant) & 3u;
  const std::uint32_t fraction = (quadrant & 1u ? ~fixed : fixed) & kFraction;
  const std::int64_t sum = interpolate(kSin, fraction >> kOffsetBits, fraction & ((1u << kOffsetBits) - 1));
  const std::uint32_t sign = (quadrant & 2u) << 30 ^ (first_quadrant ? 0u : turns & kSign);
  const std::uint32_t result = cut_to_f32(sum, 0x1p-40) | sign;
  return magnitude >= kInfinity ? kNan : result;
}

/// Radians to turns, cut towards zero.
[[gnu::always_inline]] inline std::uint32_t turns_of(std::uint32_t radians) {
  const double product = static_cast<double>(as_float(radians)) * static_cast<double>(as_float(0x3e22f983u));
  const std::uint64_t kept = std::bit_cast<std::uint64_t>(product) & ~((std::uint64_t{1} << 29) - 1);
  return as_bits(static_cast<float>(std::bit_cast<double>(kept)));
}

/// The segments of tanh in each binade from 2^-8 to 2^2: their number (as a shift) and the first one's place.
constexpr std::array<std::int32_t, 11> kTanhShift = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
constexpr std::array<std::int32_t, 11> kTanhFirst = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};

[[gnu::always_inline]] inline std::uint32_t mufu_tanh(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & kMagnitude;
  const std::int32_t exponent = static_cast<std::int32_t>(magnitude >> 23) - 127;
  const std::int32_t binade = exponent < -8 ? 0 : exponent > 2 ? 10 : exponent + 8;
  const std::uint32_t fraction = magnitude & kFraction;
  const std::int32_t shift = kTanhShift[binade];
  const std::uint32_t within = (fraction << shift) & kFraction;
  const std::uint32_t segment = static_cast<std::uint32_t>(kTanhFirst[binade]) + ((fraction << shift) >> 23);
  const std::int64_t sum = interpolate(kTanh, segment, within >> (23 - kOffsetBits));
  const std::int64_t unit_exponent = binade - 8 - shift - kOffsetBits - 19;
  std::uint32_t result = cut_to_f32(sum, std::bit_cast<double>((unit_exponent + 1023) << 52));
  result = exponent < -8 ? magnitude : result;
  result = exponent > 2 ? kOne : result;
  result |= bits & kSign;
  return magnitude > kInfinity ? kNan : result;
}

// ---- PTX instructions. Without .ftz, ptxas scales operands and results that the unit would flush.

[[gnu::always_inline]] inline std::uint32_t ex2_lane(std::uint32_t bits, Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush;
  const bool small = !flush && as_float(bits) < -126.f;
  const std::uint32_t result = mufu_ex2(small ? as_bits(as_float(bits) * 0.5f) : bits);
  return small ? as_bits(as_float(result) * as_float(result)) : result;
}

[[gnu::always_inline]] inline std::uint32_t rcp_lane(std::uint32_t bits, Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush;
  const std::uint32_t magnitude = bits & kMagnitude;
  const bool tiny = !flush && magnitude < kSmallestNormal && magnitude != 0;
  const bool huge = !flush && magnitude > as_bits(0x1p126f) && magnitude < kInfinity;
  const float scale = tiny ? 0x1p24f : huge ? 0x1p-24f : 1.f;
  const std::uint32_t result = mufu_rcp(as_bits(as_float(bits) * scale));
  return tiny || huge ? as_bits(as_float(result) * scale) : result;
}

[[gnu::always_inline]] inline std::uint32_t rsqrt_lane(std::uint32_t bits, Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush;
  const bool tiny = !flush && (bits & kMagnitude) < kSmallestNormal && (bits & kMagnitude) != 0;
  const std::uint32_t result = mufu_rsqrt(tiny ? as_bits(as_float(bits) * 0x1p24f) : bits);
  return tiny && result != kNan ? as_bits(as_float(result) * 0x1p12f) : result;
}

[[gnu::always_inline]] inline std::uint32_t sqrt_lane(std::uint32_t bits, Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush;
  const bool tiny = !flush && (bits & kMagnitude) < kSmallestNormal && (bits & kMagnitude) != 0;
  const std::uint32_t result = mufu_sqrt(tiny ? as_bits(as_float(bits) * 0x1p24f) : bits);
  return tiny && result != kNan ? as_bits(as_float(result) * 0x1p-12f) : result;
}

[[gnu::always_inline]] inline std::uint32_t lg2_lane(std::uint32_t bits, Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush;
  const bool tiny = !flush && (bits & kMagnitude) < kSmallestNormal && (bits & kMagnitude) != 0;
  const std::uint32_t result = mufu_lg2(tiny ? as_bits(as_float(bits) * 0x1p24f) : bits);
  return tiny && result != kNan ? as_bits(as_float(result) - 24.f) : result;
}

[[gnu::always_inline]] inline std::uint32_t sin_lane(std::uint32_t bits, std::uint32_t first_quadrant,
                                                     Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush;
  const std::uint32_t kept = flush && (bits & kMagnitude) < kSmallestNormal ? bits & kSign : bits;
  return mufu_sin(turns_of(kept), first_quadrant);
}

/// To f16, cut towards zero; overflow gives infinity.
[[gnu::always_inline]] inline std::uint32_t cut_to_f16(std::uint32_t f32) {
  const std::uint32_t magnitude = f32 & kMagnitude;
  const std::uint32_t normal = (magnitude >> 13) - ((127u - 15u) << 10);
  const std::uint32_t field = magnitude >> 23;
  const std::uint32_t shift = field > 101 ? 126u - (field > 113 ? 113u : field) : 25u;
  const std::uint32_t subnormal = ((magnitude & kFraction) | kSmallestNormal) >> shift;
  std::uint32_t result = field < 113 ? subnormal : normal;
  result = field < 102 ? 0u : result;
  result = field > 142 ? 0x7c00u : result;
  return magnitude > kInfinity ? 0x7fffu : result | ((f32 >> 16) & 0x8000u);
}

/// To bf16, cut towards zero.
[[gnu::always_inline]] inline std::uint32_t cut_to_bf16(std::uint32_t f32) {
  return (f32 & kMagnitude) > kInfinity ? 0x7fffu : f32 >> 16;
}

}  // namespace

namespace row {
namespace {

/// lane(bits) for each lane of a row.
template <class Lane>
[[gnu::always_inline]] inline void each(std::uint32_t* d, const std::uint32_t* a, Lane lane) {
  EVO_LANE_LOOP
  for (int i = 0; i < kLanes; ++i) d[i] = lane(a[i]);
}

EVO_CPU_CLONES void cut_f16_row(std::uint32_t* d, const std::uint32_t* a) {
  each(
      d, a, [](std::uint32_t x) __attribute__((always_inline)) { return cut_to_f16(x); });
}

using Row = std::array<std::uint32_t, kLanes>;

/// Both halves of packed f16 through an f32 function, cut.
template <class Function>
void through_f32_f16x2(std::uint32_t* d, const std::uint32_t* a, Function function) {
  Row low, high;
  for (int i = 0; i < kLanes; ++i) high[i] = a[i] >> 16;
  cvt_f32_f16(low.data(), a);
  cvt_f32_f16(high.data(), high.data());
  function(low.data(), low.data());
  function(high.data(), high.data());
  cut_f16_row(low.data(), low.data());
  cut_f16_row(high.data(), high.data());
  for (int i = 0; i < kLanes; ++i) d[i] = high[i] << 16 | low[i];
}

template <class Function>
void through_f32_bf16x2(std::uint32_t* d, const std::uint32_t* a, Function function) {
  Row low, high;
  for (int i = 0; i < kLanes; ++i) {
    low[i] = a[i] << 16;
    high[i] = a[i] & 0xffff0000u;
  }
  function(low.data(), low.data());
  function(high.data(), high.data());
  for (int i = 0; i < kLanes; ++i) d[i] = cut_to_bf16(high[i]) << 16 | cut_to_bf16(low[i]);
}

void ex2_flushed(std::uint32_t* d, const std::uint32_t* a) {
  ex2_approx(d, a, Subnormals::flush);
}

}  // namespace

EVO_CPU_CLONES void ex2_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return ex2_lane(x, subnormals); });
}
EVO_CPU_CLONES void lg2_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return lg2_lane(x, subnormals); });
}
EVO_CPU_CLONES void rcp_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return rcp_lane(x, subnormals); });
}
EVO_CPU_CLONES void rsqrt_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return rsqrt_lane(x, subnormals); });
}
EVO_CPU_CLONES void sqrt_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return sqrt_lane(x, subnormals); });
}
EVO_CPU_CLONES void sin_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return sin_lane(x, 0, subnormals); });
}
EVO_CPU_CLONES void cos_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals) {
  each(
      d, a, [=](std::uint32_t x) __attribute__((always_inline)) { return sin_lane(x, 1, subnormals); });
}
EVO_CPU_CLONES void tanh_approx(std::uint32_t* d, const std::uint32_t* a) {
  each(
      d, a, [](std::uint32_t x) __attribute__((always_inline)) { return mufu_tanh(x); });
}

void ex2_approx_f16x2(std::uint32_t* d, const std::uint32_t* a) {
  through_f32_f16x2(d, a, ex2_flushed);
}
void tanh_approx_f16x2(std::uint32_t* d, const std::uint32_t* a) {
  through_f32_f16x2(d, a, tanh_approx);
}
void ex2_approx_bf16x2(std::uint32_t* d, const std::uint32_t* a) {
  through_f32_bf16x2(d, a, ex2_flushed);
}
void tanh_approx_bf16x2(std::uint32_t* d, const std::uint32_t* a) {
  through_f32_bf16x2(d, a, tanh_approx);
}

}  // namespace row

// f64 uses the tables of f32: the upper word's 20 bits of fraction go in, and the result is cut to 20 bits.

std::uint32_t rcp_approx_f64(std::uint32_t upper) {
  const std::uint32_t sign = upper & kSign, magnitude = upper & kMagnitude;
  if (magnitude > kInfinityF64) return kNan;
  if (magnitude == kInfinityF64) return sign;
  if (magnitude < kSmallestNormalF64) return sign | kInfinityF64;
  const std::uint32_t reciprocal = mufu_rcp(kOne | (magnitude & kFractionF64) << 3);
  const std::int32_t exponent =
      static_cast<std::int32_t>(reciprocal >> 23) - 127 + 2046 - static_cast<std::int32_t>(magnitude >> 20);
  return exponent <= 0 ? sign : sign | static_cast<std::uint32_t>(exponent) << 20 | (reciprocal & kFraction) >> 3;
}

std::uint32_t rsqrt_approx_f64(std::uint32_t upper) {
  const std::uint32_t sign = upper & kSign, magnitude = upper & kMagnitude;
  if (magnitude < kSmallestNormalF64) return sign | kInfinityF64;
  if (magnitude > kInfinityF64 || sign != 0) return kNan;
  if (magnitude == kInfinityF64) return 0;
  const std::int32_t exponent = static_cast<std::int32_t>(magnitude >> 20) - 1023;
  const auto odd = static_cast<std::uint32_t>(exponent & 1);
  const std::uint32_t root = mufu_rsqrt((kOne + (odd << 23)) | (magnitude & kFractionF64) << 3);
  const std::int32_t result = static_cast<std::int32_t>(root >> 23) - 127 + 1023 - (exponent >> 1);
  return static_cast<std::uint32_t>(result) << 20 | (root & kFraction) >> 3;
}

}  // namespace evo::vgpu

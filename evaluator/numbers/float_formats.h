#pragma once

#include <cstdint>

/// Conversions between the floating-point formats of PTX, bit for bit as `cvt` does them (PTX ISA 9.0, 9.7.9 "cvt").
///
/// | format | sign-exponent-fraction | infinity | canonical NaN |
/// |---|---|---|---|
/// | f16  | 1-5-10 | yes | 0x7fff |
/// | bf16 | 1-8-7  | yes | 0x7fff |
/// | tf32 | 1-8-10, in the upper 19 bits of 32 | yes | 0x7fffe000; .rna rounds a NaN's bits like a number's |
/// | e4m3 | 1-4-3  | no: 448 is the largest | 0x7f |
/// | e5m2 | 1-5-2  | yes, but `cvt` saturates | 0x7f |
///
/// Values travel as bit patterns in integers; f32 and f64 as float and double.
namespace evo::vgpu {

inline constexpr int kLanes = 32;  ///< Threads of a warp; "row" below means one 32-bit register of each of them.

enum class Rounding {
  rn,   ///< To nearest, ties to even.
  rz,   ///< Towards zero.
  rm,   ///< Towards minus infinity.
  rp,   ///< Towards plus infinity.
  rna,  ///< To nearest, ties away from zero (tf32 only in PTX).
};

/// How a value is narrowed to a format of fewer bits.
struct Narrowing {
  Rounding rounding = Rounding::rn;
  bool saturate_finite = false;  ///< .satfinite: beyond the largest finite value (infinity too) gives that value.
  bool relu = false;             ///< .relu: negative values, -0 and negative infinity give +0; NaN stays canonical NaN.
};

// ---- Widening: always exact. A NaN widens to f32's canonical NaN 0x7fffffff, as the hardware's F2F does.

float f32_from_f16(std::uint16_t bits);
float f32_from_bf16(
    std::uint16_t bits);  ///< A shift: NaN payloads survive, as bf16 to f32 has no instruction of its own.
float f32_from_e4m3(std::uint8_t bits);
float f32_from_e5m2(std::uint8_t bits);
std::uint16_t f16_from_e4m3(std::uint8_t bits);  ///< Exact: subnormals of e4m3 are normal in f16. NaN: 0x7fff.
std::uint16_t f16_from_e5m2(std::uint8_t bits);  ///< Exact: e5m2 is f16's upper byte. NaN: 0x7fff.

// ---- Narrowing. The 8-bit formats always saturate (PTX requires .satfinite there); NaN stays NaN.

std::uint16_t f16_from_f32(float value, Narrowing how = {});
std::uint16_t bf16_from_f32(float value, Narrowing how = {});
std::uint8_t e4m3_from_f32(float value, Narrowing how = {});
std::uint8_t e5m2_from_f32(float value, Narrowing how = {});
std::uint32_t tf32_from_f32(float value, Narrowing how = {});  ///< The 13 low bits come out zero.

/// A NaN from f64 keeps its sign and the upper bits of its payload.
std::uint16_t f16_from_f64(double value, Narrowing how = {});
std::uint16_t bf16_from_f64(double value, Narrowing how = {});
float f32_from_f64(double value, Rounding rounding = Rounding::rn);

std::uint8_t e4m3_from_f16(std::uint16_t bits, Narrowing how = {});
std::uint8_t e5m2_from_f16(std::uint16_t bits, Narrowing how = {});

/// .ftz: a subnormal f32 becomes a zero of the same sign.
float flush_subnormal(float value);

// ---- Whole warps: one row of 32 registers in, one out; in and out may be the same row. Vectorised; the same bits
// on every CPU. Named after the PTX instruction: `d.hi = a, d.lo = b` for the packing forms.

namespace row {

void cvt_f32_f16(std::uint32_t* d, const std::uint32_t* a);  ///< Reads the low half of a register.
void cvt_f32_bf16(std::uint32_t* d, const std::uint32_t* a);
void cvt_f16_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});  ///< Upper half of d: zero.
void cvt_bf16_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_tf32_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});

void cvt_f16x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_bf16x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_e4m3x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_e5m2x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});

/// The packed 8-bit pair is in the low half of a register; the upper half of d is zero and of a ignored.
void cvt_e4m3x2_f16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_e5m2x2_f16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_f16x2_e4m3x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);
void cvt_f16x2_e5m2x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);

}  // namespace row

}  // namespace evo::vgpu

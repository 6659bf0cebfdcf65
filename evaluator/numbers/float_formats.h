#pragma once

#include <cstdint>

#include "evaluator/numbers/narrowing.h"

/// Conversions between floating-point formats. The results are the bits that PTX's `cvt` gives (PTX ISA 9.0, 9.7.9
/// "cvt").
///
/// | format | sign-exponent-fraction | infinity | canonical NaN |
/// |---|---|---|---|
/// | f16  | 1-5-10 | yes | 0x7fff |
/// | bf16 | 1-8-7  | yes | 0x7fff |
/// | tf32 | 1-8-10, in the upper 19 bits of 32 | yes | 0x7fffe000; .rna rounds a NaN's bits like a number's |
/// | e4m3 | 1-4-3  | no: 448 is the largest | 0x7f |
/// | e5m2 | 1-5-2  | yes, but `cvt` saturates | 0x7f |
///
/// f32 and f64 values are float and double. Values of the other formats are bit patterns in integers.
namespace evo {

// ---- Widening is exact. A NaN becomes f32's canonical NaN 0x7fffffff, as in the hardware's F2F.

float f32_from_f16(std::uint16_t bits);
float f32_from_bf16(std::uint16_t bits);  ///< A shift, which keeps a NaN's payload.
float f32_from_e4m3(std::uint8_t bits);
float f32_from_e5m2(std::uint8_t bits);
std::uint16_t f16_from_e4m3(std::uint8_t bits);  ///< NaN: 0x7fff.
std::uint16_t f16_from_e5m2(std::uint8_t bits);  ///< NaN: 0x7fff.

// ---- Narrowing. The 8-bit formats always saturate, because PTX requires .satfinite there. A NaN stays a NaN.

std::uint16_t f16_from_f32(float value, Narrowing how = {});
std::uint16_t bf16_from_f32(float value, Narrowing how = {});
std::uint8_t e4m3_from_f32(float value, Narrowing how = {});
std::uint8_t e5m2_from_f32(float value, Narrowing how = {});
std::uint32_t tf32_from_f32(float value, Narrowing how = {});  ///< The 13 low bits come out zero.

/// A NaN from f64 keeps its sign and the upper bits of its payload.
std::uint16_t f16_from_f64(double value, Narrowing how = {});
std::uint16_t bf16_from_f64(double value, Narrowing how = {});

}  // namespace evo

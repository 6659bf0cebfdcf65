#pragma once

#include <cstdint>

#include "evaluator/numbers/float_formats.h"

namespace evo::vgpu {

inline constexpr int kLanes = 32;  ///< Threads of a warp.

}  // namespace evo::vgpu

/// Conversions between floating-point formats for a whole warp. A row is one 32-bit register of each of 32 lanes; the
/// output may be one of the inputs. The bits are those of float_formats.h on every CPU.
///
/// A function has the name of its PTX instruction. Packing forms store a in the upper part of d and b in the lower one.
namespace evo::vgpu::row {

void cvt_f32_f16(std::uint32_t* d, const std::uint32_t* a);  ///< Reads the low half of a register.
void cvt_f32_bf16(std::uint32_t* d, const std::uint32_t* a);
void cvt_f16_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});  ///< Upper half of d: zero.
void cvt_bf16_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_tf32_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});

void cvt_f16x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_bf16x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_e4m3x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_e5m2x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});

/// Of these the codes are padded with zeros to 8 bits, but for e2m1, which has 4.
void cvt_e2m1x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_e2m3x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
void cvt_e3m2x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});
/// Exponents of magnitudes, rounded towards zero or up.
void cvt_ue8m0x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how = {});

/// The packed 8-bit pair is in the low half of a register; the upper half of d is zero and of a ignored.
void cvt_e4m3x2_f16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_e5m2x2_f16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_f16x2_e4m3x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);
void cvt_f16x2_e5m2x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);
void cvt_f16x2_e2m1x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);
void cvt_f16x2_e2m3x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);
void cvt_f16x2_e3m2x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);
void cvt_ue8m0x2_bf16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how = {});
void cvt_bf16x2_ue8m0x2(std::uint32_t* d, const std::uint32_t* a, bool relu = false);

}  // namespace evo::vgpu::row

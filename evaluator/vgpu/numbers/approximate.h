#pragma once

#include <cstdint>

/// The approximate functions of the multi-function unit (PTX ISA 9.0, 9.7.3: "ex2", "lg2", "rcp", "rsqrt", "sqrt",
/// "sin", "cos", "tanh" with .approx). Special values are those of the ISA's tables; ordinary values lie within the
/// ISA's error bounds. docs/vgpu.md lists the functions that equal an H200 bit for bit and the errors of the others.
namespace evo::vgpu {

/// What .ftz does: subnormal inputs and results become zeros of the same sign.
enum class Subnormals { keep, flush };

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64, from the upper word of a double to that of the result. The operand's
/// lower word does not count; the result's is zero.
std::uint32_t rcp_approx_f64(std::uint32_t upper);
std::uint32_t rsqrt_approx_f64(std::uint32_t upper);

/// Functions of whole warps. A row is one 32-bit register of each of 32 lanes; the output may be the input.
namespace row {

void ex2_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void lg2_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void rcp_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void rsqrt_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void sqrt_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void sin_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void cos_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void tanh_approx(std::uint32_t* d, const std::uint32_t* a);  ///< Keeps subnormals.

/// Packed pairs; the scalar .f16 and .bf16 forms are their low halves. ex2 flushes subnormals of bf16 and keeps those
/// of f16; tanh keeps both.
void ex2_approx_f16x2(std::uint32_t* d, const std::uint32_t* a);
void tanh_approx_f16x2(std::uint32_t* d, const std::uint32_t* a);
void ex2_approx_bf16x2(std::uint32_t* d, const std::uint32_t* a);
void tanh_approx_bf16x2(std::uint32_t* d, const std::uint32_t* a);

}  // namespace row

}  // namespace evo::vgpu

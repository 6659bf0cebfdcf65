#pragma once

#include <cstdint>

/// The approximate functions of the multi-function unit (PTX ISA 9.0, 9.7.3: "ex2", "lg2", "rcp", "rsqrt", "sqrt",
/// "sin", "cos", "tanh" with .approx). Special values are exactly the ISA's tables; ordinary values lie within the
/// ISA's error bounds. docs/vgpu.md says which of them equal an H200 bit for bit and by how much the others differ.
namespace evo::vgpu {

/// What .ftz does: subnormal inputs and results become zeros of the same sign.
enum class Subnormals { keep, flush };

float ex2_approx(float x, Subnormals subnormals);
float lg2_approx(float x, Subnormals subnormals);
float rcp_approx(float x, Subnormals subnormals);
float rsqrt_approx(float x, Subnormals subnormals);
float sqrt_approx(float x, Subnormals subnormals);
float sin_approx(float x, Subnormals subnormals);
float cos_approx(float x, Subnormals subnormals);
float tanh_approx(float x);  ///< Subnormals are kept.

/// The upper words of doubles (rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64); the lower words are not read,
/// and zero.
std::uint32_t rcp_approx_f64(std::uint32_t upper);
std::uint32_t rsqrt_approx_f64(std::uint32_t upper);

std::uint16_t ex2_approx_f16(std::uint16_t x);  ///< Subnormals are kept.
std::uint16_t tanh_approx_f16(std::uint16_t x);
std::uint16_t ex2_approx_bf16(std::uint16_t x);  ///< ex2.approx.ftz.bf16: subnormals are flushed.
std::uint16_t tanh_approx_bf16(std::uint16_t x);

/// Whole warps: a row is one 32-bit register of each of 32 lanes; in and out may be the same row. Same bits as above.
namespace row {

void ex2_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void lg2_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void rcp_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void rsqrt_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void sqrt_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void sin_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void cos_approx(std::uint32_t* d, const std::uint32_t* a, Subnormals subnormals);
void tanh_approx(std::uint32_t* d, const std::uint32_t* a);

/// Packed pairs; the scalar .f16 and .bf16 forms are the low halves.
void ex2_approx_f16x2(std::uint32_t* d, const std::uint32_t* a);
void tanh_approx_f16x2(std::uint32_t* d, const std::uint32_t* a);
void ex2_approx_bf16x2(std::uint32_t* d, const std::uint32_t* a);
void tanh_approx_bf16x2(std::uint32_t* d, const std::uint32_t* a);

}  // namespace row

}  // namespace evo::vgpu

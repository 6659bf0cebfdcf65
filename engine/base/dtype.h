#pragma once

#include <cstddef>
#include <string_view>

namespace evo {

/// Element types of tensors. e4m3 and e5m2 are the OCP 8-bit floating point formats.
enum class DType { u8, s8, s32, e4m3, e5m2, f16, bf16, f32, f64 };

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);
/// Throws usage_error for an unknown name.
DType parse_dtype(std::string_view name);

}  // namespace evo

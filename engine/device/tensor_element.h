#pragma once

#include <cstdint>

#include "engine/base/dtype.h"

namespace evo {

/// What a TMA tensor map knows of its elements, numbered as tensormap.replace.elemtype has them (PTX
/// ISA 9.0, 9.7.9.27).
enum class TensorElement : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16, tf32, tf32_ftz };

/// Types without one of their own are copied as bits of their width; two e2m1 are one byte.
TensorElement tensor_element_of(DType dtype);

}  // namespace evo

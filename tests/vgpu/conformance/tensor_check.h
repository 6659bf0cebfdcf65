#pragma once

#include <stdexcept>

#include "evaluator/vgpu/numbers/tensor_map.h"
#include "tests/vgpu/conformance/tensor_cases.h"

namespace evo::vgpu {

/// The virtual GPU's map of a tensor at `address`.
inline TensorMapObject map_of(const conformance::TensorSpec& tensor, std::uint64_t address) {
  constexpr std::string_view kNames[] = {"u8",  "u16",     "u32", "s32",  "u64",  "s64",     "f16",
                                         "f32", "f32_ftz", "f64", "bf16", "tf32", "tf32_ftz"};
  TensorMapObject map;
  map.address = address;
  map.rank = static_cast<std::uint8_t>(tensor.extents.size());
  map.element =
      static_cast<TensorElement>(std::find(std::begin(kNames), std::end(kNames), tensor.element) - std::begin(kNames));
  for (std::size_t i = 0; i < map.rank; ++i) {
    map.last[i] = static_cast<std::uint32_t>(tensor.extents[i] - 1);
    map.box[i] = static_cast<std::uint16_t>(tensor.box[i]);
    map.element_stride[i] = static_cast<std::uint8_t>(tensor.element_strides[i]);
    if (i > 0) map.stride_bytes[i - 1] = tensor.strides_bytes[i - 1];
  }
  constexpr int kSwizzles[] = {0, 32, 64, 128};
  map.swizzle = static_cast<Swizzle>(std::find(std::begin(kSwizzles), std::end(kSwizzles), tensor.swizzle_bytes) -
                                     std::begin(kSwizzles));
  map.fills_with_nan = tensor.fills_with_nan ? 1 : 0;
  const std::string why = why_refused(map);
  if (!why.empty()) throw std::runtime_error(why);
  return map;
}

}  // namespace evo::vgpu

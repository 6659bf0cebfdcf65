#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/vgpu/conformance/recorded_case.h"

/// Copies of parts of tensors (cp.async.bulk.tensor and cp.reduce.async.bulk.tensor, PTX ISA 9.0, 9.7.9.27) to record
/// and to compare.
namespace evo::conformance {

/// The fields of a tensor map; innermost dimension first.
struct TensorSpec {
  std::string element =
      "f16";  ///< As tensormap.replace names them: u8 u16 u32 s32 u64 s64 f16 f32 f32_ftz f64 bf16 tf32 tf32_ftz.
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> strides_bytes;  ///< Of all dimensions but the innermost.
  std::vector<std::uint32_t> box;
  std::vector<std::uint32_t> element_strides;
  int swizzle_bytes = 0;
  bool fills_with_nan = false;
};

struct TensorCase {
  Case test;  ///< Its kernel has a third parameter: the map, 128 bytes aligned to 64.
  TensorSpec tensor;
  bool written = false;  ///< The tensor begins where the outputs do, not where the inputs do.
};

std::vector<TensorCase> tensor_cases();

}  // namespace evo::conformance

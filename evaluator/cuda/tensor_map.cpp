#include "evaluator/cuda/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/device/tensor_element.h"
#include "engine/record/enumerators.h"

namespace evo::cuda {
namespace {

/// By TensorElement.
constexpr CUtensorMapDataType kDataTypes[] = {
    CU_TENSOR_MAP_DATA_TYPE_UINT8,        CU_TENSOR_MAP_DATA_TYPE_UINT16,   CU_TENSOR_MAP_DATA_TYPE_UINT32,
    CU_TENSOR_MAP_DATA_TYPE_INT32,        CU_TENSOR_MAP_DATA_TYPE_UINT64,   CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16,      CU_TENSOR_MAP_DATA_TYPE_FLOAT32,  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64,      CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
};
static_assert(std::size(kDataTypes) == kEnumerators<TensorElement>);

/// NONE, 32B, 64B, 128B.
CUtensorMapSwizzle swizzle_of(std::uint32_t bytes) {
  return static_cast<CUtensorMapSwizzle>(std::bit_width(bytes / 32));
}

}  // namespace

Failure refusal(std::string reason) {
  Failure failure;
  failure.verdict = Verdict::launch_failed;
  failure.reason = std::move(reason);
  return failure;
}

CUtensorMap encode_tensor_map(const Driver& driver, const TensorMap& map, DeviceAddress address,
                              std::optional<Failure>& failure) {
  CUtensorMap encoded{};
  if (const std::string why = why_malformed(map); !why.empty()) {
    failure = refusal(fmt::format("tensor map {} {}", map.name, why));
    return encoded;
  }
  const std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end());
  std::vector<cuuint64_t> strides(map.strides_bytes.begin(), map.strides_bytes.end());
  strides.push_back(0);  // Never read, but a one-dimensional map still needs an address to pass.
  const std::vector<cuuint32_t> box(map.box.begin(), map.box.end());
  const std::vector<cuuint32_t> every_element(map.dims.size(), 1);
  const CUresult result = driver.encode_tensor_map(
      &encoded, kDataTypes[static_cast<std::size_t>(tensor_element_of(map.dtype))],
      static_cast<cuuint32_t>(dims.size()), reinterpret_cast<void*>(address), dims.data(), strides.data(), box.data(),
      every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(map.swizzle_bytes),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    failure = refusal(fmt::format("tensor map {} ({} dims {}, strides {} B, box {}, swizzle {} B): {}", map.name,
                                  name_of(map.dtype), fmt::join(map.dims, "x"), fmt::join(map.strides_bytes, "/"),
                                  fmt::join(map.box, "x"), map.swizzle_bytes, describe(driver, result)));
  }
  return encoded;
}

}  // namespace evo::cuda

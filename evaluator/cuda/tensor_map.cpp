#include "evaluator/cuda/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "engine/device/tensor_element.h"

namespace evo::cuda {
namespace {

CUtensorMapDataType data_type_of(TensorElement element) {
  switch (element) {
    case TensorElement::u8:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case TensorElement::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case TensorElement::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case TensorElement::s32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case TensorElement::u64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case TensorElement::s64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case TensorElement::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TensorElement::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case TensorElement::f32_ftz:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ;
    case TensorElement::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case TensorElement::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case TensorElement::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case TensorElement::tf32_ftz:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

std::optional<CUtensorMapSwizzle> swizzle_of(std::uint32_t bytes) {
  switch (bytes) {
    case 0:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return std::nullopt;
  }
}

/// Why the driver cannot be given the map: a list that it would read past the end of, or a swizzle that it lacks.
std::string why_malformed(const TensorMap& map) {
  if (map.dims.empty() || map.dims.size() > 5) return "has 0 or more than 5 dims";
  if (map.strides_bytes.size() + 1 != map.dims.size()) return "needs one stride fewer than dims";
  if (map.box.size() != map.dims.size()) return "needs one box size for each dim";
  if (!swizzle_of(map.swizzle_bytes)) return "has a swizzle other than 0, 32, 64 or 128 bytes";
  return {};
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
      &encoded, data_type_of(tensor_element_of(map.dtype)), static_cast<cuuint32_t>(dims.size()),
      reinterpret_cast<void*>(address), dims.data(), strides.data(), box.data(), every_element.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, *swizzle_of(map.swizzle_bytes), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    failure = refusal(fmt::format("tensor map {} ({} dims {}, strides {} B, box {}, swizzle {} B): {}", map.name,
                                  name_of(map.dtype), fmt::join(map.dims, "x"), fmt::join(map.strides_bytes, "/"),
                                  fmt::join(map.box, "x"), map.swizzle_bytes, describe(driver, result)));
  }
  return encoded;
}

}  // namespace evo::cuda

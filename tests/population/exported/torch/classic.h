#pragma once
#include <cuda_runtime.h>
#include <fake.h>
namespace at {
using fake::ScalarType;
using fake::Tensor;
inline Tensor empty(std::vector<std::int64_t>, fake::Options) {
  return {};
}
}  // namespace at
namespace at::cuda {
cudaStream_t getCurrentCUDAStream(signed char);
}
namespace c10 {
using DeviceIndex = signed char;
}
namespace c10::cuda {
using CUDAGuard = fake::Guard;
}
#define TORCH_CHECK(...) fake::check(__VA_ARGS__)
#define TORCH_LIBRARY FAKE_LIBRARY
#define TORCH_LIBRARY_IMPL FAKE_LIBRARY_IMPL

#pragma once
#include <fake.h>
namespace torch::headeronly {
using fake::ScalarType;
}
namespace torch::stable {
using fake::Tensor;
Tensor new_empty(const Tensor&, std::vector<std::int64_t>, fake::ScalarType);
Tensor clone(const Tensor&);
}  // namespace torch::stable
namespace torch::stable::accelerator {
using DeviceGuard = fake::Guard;
}
extern "C" int aoti_torch_get_current_cuda_stream(int, void**);
#define TORCH_ERROR_CODE_CHECK(call) fake::check((call) == 0)
#define TORCH_BOX(function) (function)
#define STABLE_TORCH_LIBRARY FAKE_LIBRARY
#define STABLE_TORCH_LIBRARY_IMPL FAKE_LIBRARY_IMPL

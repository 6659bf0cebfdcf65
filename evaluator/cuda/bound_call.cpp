#include "evaluator/cuda/bound_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/base/text.h"
#include "evaluator/cuda/tensor_map.h"
#include "evaluator/device/constants.h"
#include "evaluator/numbers/elements.h"

namespace evo::cuda {
namespace {

Failure no_such_kernel(const std::string& kernel, const Build& build) {
  std::vector<std::string> names;
  for (const auto& [name, ptx_name] : build.kernel_names) names.push_back(name);
  return refusal(
      fmt::format("the program has no kernel {}{}", kernel, names.empty() ? "" : "; there are: " + list_of(names)));
}

/// An argument's address; null for a workspace of no bytes. Plans are resolved by the
/// engine, so an index out of range is our own bug.
DeviceAddress address_of(const Argument& argument, const Plan& plan, const Buffers& buffers) {
  if (argument.kind == Argument::Kind::tensor) return buffers.tensors.at(argument.index);
  return plan.workspaces.at(argument.index).bytes > 0 ? buffers.workspaces.at(argument.index) : 0;
}

template <typename T>
std::vector<std::byte> raw_bytes(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

std::uint32_t volume(const Dim3& dims) {
  return dims[0] * dims[1] * dims[2];
}

// Without the attribute the driver grants clusters of eight CTAs at most.
constexpr std::uint32_t kPortableClusterSize = 8;

}  // namespace

BoundCall::BoundCall(const Driver& driver, CUmodule module, const Build& build, const Plan& plan,
                     const Buffers& buffers, std::optional<Failure>& failure)
    : driver_(&driver) {
  failure = bind(module, build, plan, buffers);
}

std::optional<Failure> BoundCall::bind(CUmodule module, const Build& build, const Plan& plan, const Buffers& buffers) {
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    const Workspace& workspace = plan.workspaces[i];
    if (workspace.zeroed && workspace.bytes > 0) {
      zeroed_.push_back({workspace.name, buffers.workspaces.at(i), workspace.bytes});
    }
  }
  for (const Constant& constant : plan.constants) {
    if (std::optional<Failure> failure = bind_constant(module, build, plan, buffers, constant)) return failure;
  }
  for (const Launch& launch : plan.launches) {
    if (std::optional<Failure> failure = bind_launch(module, build, plan, buffers, launch)) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> BoundCall::bind_constant(CUmodule module, const Build& build, const Plan& plan,
                                                const Buffers& buffers, const Constant& constant) {
  Filled filled;
  filled.symbol = constant.symbol;
  const CUresult found =
      driver_->module_variable(&filled.address, &filled.bytes, module, build.variable_name(constant.symbol).c_str());
  if (found != CUDA_SUCCESS && found != CUDA_ERROR_NOT_FOUND)
    return candidate_failure(*driver_, found, fmt::format("variable {}", constant.symbol));
  const auto size = found == CUDA_SUCCESS ? std::optional<std::uint64_t>(filled.bytes) : std::nullopt;
  if (auto failure = misfit(constant, plan, size)) return failure;
  if (constant.source.kind == Argument::Kind::tensor) {
    filled.input = buffers.tensors.at(constant.source.index);
  } else {
    filled.value = bytes_of(constant.source.fields);
  }
  filled_.push_back(std::move(filled));
  return std::nullopt;
}

std::optional<Failure> BoundCall::bind_launch(CUmodule module, const Build& build, const Plan& plan,
                                              const Buffers& buffers, const Launch& launch) {
  BoundLaunch bound;
  bound.launch = launch;
  const CUresult found = driver_->module_function(&bound.function, module, build.ptx_name(launch.kernel).c_str());
  if (found == CUDA_ERROR_NOT_FOUND) return no_such_kernel(launch.kernel, build);
  if (found != CUDA_SUCCESS) return candidate_failure(*driver_, found, fmt::format("kernel {}", launch.kernel));
  if (std::optional<Failure> failure = bind_arguments(plan, buffers, bound)) return failure;
  if (std::optional<Failure> failure = check_signature(bound)) return failure;
  if (std::optional<Failure> failure = opt_in(bound, plan)) return failure;
  bound.cooperative = build.kernel(launch.kernel).cooperative;
  launches_.push_back(std::move(bound));
  return std::nullopt;
}

std::optional<Failure> BoundCall::bind_arguments(const Plan& plan, const Buffers& buffers, BoundLaunch& bound) const {
  for (const Argument& argument : bound.launch.arguments) {
    std::optional<Failure> failure;
    switch (argument.kind) {
      case Argument::Kind::tensor:
      case Argument::Kind::workspace:
        bound.values.push_back(raw_bytes<CUdeviceptr>(address_of(argument, plan, buffers)));
        break;
      case Argument::Kind::value:
        bound.values.push_back(bytes_of(argument.fields));
        break;
      case Argument::Kind::tensor_map: {
        const TensorMap& map = plan.tensor_maps.at(argument.index);
        bound.values.push_back(
            raw_bytes(encode_tensor_map(*driver_, map, address_of(map.source, plan, buffers), failure)));
        break;
      }
    }
    if (failure) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> BoundCall::check_signature(const BoundLaunch& bound) const {
  if (driver_->function_parameter == nullptr) return std::nullopt;
  const std::vector<Argument>& arguments = bound.launch.arguments;
  std::size_t offset = 0, bytes = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (driver_->function_parameter(bound.function, i, &offset, &bytes) != CUDA_SUCCESS) {
      return refusal(
          fmt::format("kernel {} takes {} arguments, the plan passes {}", bound.launch.kernel, i, arguments.size()));
    }
    if (bytes != bound.values[i].size()) {
      return refusal(fmt::format("kernel {}: argument {} has {} bytes, the plan passes {}", bound.launch.kernel, i,
                                 bytes, bound.values[i].size()));
    }
  }
  if (driver_->function_parameter(bound.function, arguments.size(), &offset, &bytes) == CUDA_SUCCESS) {
    return refusal(
        fmt::format("kernel {} takes more than the {} arguments of the plan", bound.launch.kernel, arguments.size()));
  }
  return std::nullopt;
}

std::optional<Failure> BoundCall::opt_in(const BoundLaunch& bound, const Plan& plan) const {
  const Launch& launch = bound.launch;
  const auto set = [&](CUfunction_attribute which, std::uint32_t value, const char* what) -> std::optional<Failure> {
    const CUresult result = driver_->function_set_attribute(bound.function, which, static_cast<int>(value));
    if (result == CUDA_SUCCESS) return std::nullopt;
    return candidate_failure(*driver_, result, fmt::format("kernel {}: {} {}", launch.kernel, value, what));
  };
  // The limit belongs to the kernel, which a plan may launch more than once.
  std::uint32_t smem_bytes = 0;
  for (const Launch& other : plan.launches) {
    if (other.kernel == launch.kernel) smem_bytes = std::max(smem_bytes, other.dynamic_smem_bytes);
  }
  if (smem_bytes > 0) {
    auto failure = set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes, "bytes of dynamic shared memory");
    if (failure) return failure;
  }
  if (volume(launch.cluster) > kPortableClusterSize) {
    return set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, "as non-portable cluster size");
  }
  return std::nullopt;
}

std::optional<Failure> BoundCall::fill_constants(CUstream stream) const {
  for (const Filled& filled : filled_) {
    const CUresult result = filled.input != 0
                                ? driver_->copy_on_device(filled.address, filled.input, filled.bytes, stream)
                                : driver_->copy_to_device(filled.address, filled.value.data(), filled.bytes, stream);
    if (result != CUDA_SUCCESS)
      return candidate_failure(*driver_, result, fmt::format("filling variable {}", filled.symbol));
  }
  return std::nullopt;
}

std::optional<Failure> BoundCall::enqueue(CUstream stream) const {
  for (const Zeroed& workspace : zeroed_) {
    const CUresult result = driver_->memory_set(workspace.address, 0, workspace.bytes, stream);
    if (result != CUDA_SUCCESS) {
      return candidate_failure(*driver_, result, fmt::format("zeroing workspace {}", workspace.name));
    }
  }
  for (const BoundLaunch& bound : launches_) {
    if (std::optional<Failure> failure = enqueue(bound, stream)) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> BoundCall::enqueue(const BoundLaunch& bound, CUstream stream) const {
  const Launch& launch = bound.launch;
  std::array<CUlaunchAttribute, 3> attributes{};
  unsigned count = 0;
  if (volume(launch.cluster) > 1) {
    CUlaunchAttribute& attribute = attributes[count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  }
  if (launch.programmatic) {
    CUlaunchAttribute& attribute = attributes[count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (bound.cooperative) {
    CUlaunchAttribute& attribute = attributes[count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  CUlaunchConfig config{};
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = launch.dynamic_smem_bytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = count;

  std::vector<void*> parameters;
  for (const Value& value : bound.values) parameters.push_back(const_cast<std::byte*>(value.data()));
  const CUresult result = driver_->launch(&config, bound.function, parameters.data(), nullptr);
  if (result == CUDA_SUCCESS) return std::nullopt;
  return candidate_failure(
      *driver_, result,
      fmt::format("kernel {}: grid {}x{}x{}, block {}x{}x{}, cluster {}x{}x{}, {} B of dynamic shared memory",
                  launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
                  launch.block[2], launch.cluster[0], launch.cluster[1], launch.cluster[2], launch.dynamic_smem_bytes));
}

}  // namespace evo::cuda

#include "evaluator/pipeline/devices.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/cuda/cuda_device.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/vgpu/virtual_device.h"
#include "evaluator/worker/worker.h"

namespace evo {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";
constexpr std::string_view kVirtualPrefix = "vgpu:";

/// The number after "cuda:"; empty when there is none.
std::optional<int> ordinal_of(std::string_view name) {
  const std::string_view digits = name.substr(kCudaPrefix.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

[[noreturn]] void refuse(std::string_view name) {
  throw usage_error(fmt::format(
      "'{}' is no device: there are auto, cuda:N, vgpu and vgpu:MODEL (h200, h100, a100, l4, rtx4090)", name));
}

DeviceInfo cuda_info(std::string_view name) {
  const std::optional<int> ordinal = ordinal_of(name);
  if (!ordinal) refuse(name);
  std::string why_none;
  const std::vector<DeviceInfo> gpus = cuda::list_devices(&why_none);
  if (gpus.empty()) throw machine_error(fmt::format("{}: {}; --device vgpu works without a GPU", name, why_none));
  if (static_cast<std::size_t>(*ordinal) >= gpus.size()) {
    throw machine_error(fmt::format("{}: this machine has {} CUDA GPU{}; the last is cuda:{}", name, gpus.size(),
                                    gpus.size() == 1 ? "" : "s", gpus.size() - 1));
  }
  return gpus[static_cast<std::size_t>(*ordinal)];
}

}  // namespace

std::vector<DeviceInfo> all_devices() {
  std::vector<DeviceInfo> devices = cuda::list_devices();
  for (const std::string& model : vgpu::model_names()) devices.push_back(vgpu::model_info(model));
  return devices;
}

DeviceInfo resolve_device(std::string_view name) {
  if (name == "auto") {
    const std::vector<DeviceInfo> gpus = cuda::list_devices();
    return gpus.empty() ? vgpu::model_info("h200") : gpus.front();
  }
  if (name == "vgpu") return vgpu::model_info("h200");
  if (name.starts_with(kVirtualPrefix)) return vgpu::model_info(name.substr(kVirtualPrefix.size()));
  if (name.starts_with(kCudaPrefix)) return cuda_info(name);
  refuse(name);
}

std::unique_ptr<Device> open_device(const std::string& id, int threads) {
  if (id.starts_with(kVirtualPrefix)) return vgpu::make_device(id.substr(kVirtualPrefix.size()), threads);
  if (id.starts_with(kCudaPrefix)) {
    if (const auto ordinal = ordinal_of(id)) return cuda::make_device(*ordinal);
  }
  refuse(id);
}

int worker_main(const std::vector<std::string>& arguments) {
  return serve_worker(arguments, {open_device, make_nvrtc_compiler});
}

}  // namespace evo

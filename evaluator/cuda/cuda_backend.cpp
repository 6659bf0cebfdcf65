#include "evaluator/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/cuda/cuda_device.h"
#include "evaluator/cuda/device_query.h"
#include "evaluator/cuda/gpu_monitor.h"

namespace evo::cuda {
namespace {

constexpr const char* kInstallDriver =
    "install NVIDIA's driver (CUDA 12.0 or newer); without one, runs use the virtual GPU";

/// Case and timing take milliseconds, and every deadlocked kernel costs a whole deadline.
constexpr double kRunDeadlineS = 15;
/// A byte that is drawn, copied to the parent and compared takes as long as so many flops of a plain kernel.
constexpr double kWorkPerByte = 1000;
/// The limit is the oracle, which a plain kernel in double precision computes once.
constexpr double kGridWork = 8e12;
/// A case of this much work takes the reference kernel a second.
constexpr double kHeldOutWork = 1e11;
constexpr double kRunS = 300;

int ordinal_of(std::string_view name) {
  const std::optional<int> ordinal = number_in<int>(name);
  if (!ordinal || *ordinal < 0) {
    throw usage_error(fmt::format("'{}{}{}' is no device: GPUs are called {}:0, {}:1, ...", kKind,
                                  name.empty() ? "" : ":", name, kKind, kKind));
  }
  return *ordinal;
}

DeviceInfo find_device(std::string_view name) {
  const int ordinal = ordinal_of(name);
  std::string why_none;
  const std::vector<DeviceInfo> gpus = list_devices(&why_none);
  if (gpus.empty()) {
    throw machine_error(fmt::format("{}:{}: {}; --device vgpu works without a GPU", kKind, name, why_none));
  }
  if (static_cast<std::size_t>(ordinal) >= gpus.size()) {
    throw machine_error(fmt::format("{}:{}: this machine has {} CUDA GPU{}; the last is {}", kKind, name, gpus.size(),
                                    gpus.size() == 1 ? "" : "s", gpus.back().id));
  }
  return gpus[static_cast<std::size_t>(ordinal)];
}

Check check_driver(const std::vector<DeviceInfo>& gpus, const std::string& why_none) {
  if (gpus.empty()) return {"NVIDIA driver", false, why_none, kInstallDriver};
  const std::string version = nvml_driver_version();
  return {"NVIDIA driver", true, version.empty() ? gpus[0].driver : fmt::format("{}, {}", version, gpus[0].driver), ""};
}

Check check_nvml(const DeviceInfo& gpu) {
  std::string why_not;
  if (make_nvml_monitor(gpu.uuid, &why_not)) return {"NVML", true, "watches the clocks of " + gpu.id, ""};
  return {"NVML", false, why_not,
          "install libnvidia-ml.so.1 (part of the driver): samples under lowered clocks are not dropped"};
}

std::vector<Check> examine(const DeviceProbe& probe) {
  std::string why_none;
  const std::vector<DeviceInfo> gpus = list_devices(&why_none);
  std::vector<Check> checks = {check_driver(gpus, why_none)};
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    checks.push_back(probe(gpus[i], [&] { return make_device(static_cast<int>(i)); }));
  }
  if (!gpus.empty()) checks.push_back(check_nvml(gpus[0]));
  return checks;
}

}  // namespace

DeviceBackend device_backend() {
  return {.kind = {.name = std::string(kKind),
                   .title = "a GPU",
                   .run_deadline_s = kRunDeadlineS,
                   .work_per_byte = kWorkPerByte,
                   .grid_work = kGridWork,
                   .held_out_work = kHeldOutWork,
                   .run_s = kRunS},
          .usage = "cuda:N",
          .list = [](std::string* why_none) { return list_devices(why_none); },
          .find = find_device,
          .open = [](std::string_view name, int) { return make_device(ordinal_of(name)); },
          .open_compiler = make_nvrtc_compiler,
          .examine = examine};
}

}  // namespace evo::cuda

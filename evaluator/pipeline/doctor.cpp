#include "evaluator/pipeline/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/cuda/cuda_device.h"
#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/gpu_monitor.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo {
namespace {

constexpr const char* kProbe = R"(extern "C" __global__ void evo_probe(int* out, int factor) {
  out[threadIdx.x] = factor * (int)threadIdx.x + 1;
}
)";
constexpr std::uint32_t kProbeThreads = 64;
constexpr std::int32_t kProbeFactor = 3;

constexpr const char* kInstallDriver =
    "install NVIDIA's driver (CUDA 12.0 or newer); without one, runs use the virtual GPU";

Plan probe_plan() {
  Plan plan;
  plan.tensors = {{"out", DType::s32, kProbeThreads * sizeof(std::int32_t), true}};
  Launch launch;
  launch.kernel = "evo_probe";
  launch.block = {kProbeThreads, 1, 1};
  launch.arguments = {{Argument::Kind::tensor, 0, 0}, {Argument::Kind::i32, 0, kProbeFactor}};
  plan.launches = {launch};
  return plan;
}

/// Why the probe's result is wrong; empty when it is right.
std::string run_probe(Device& device, const Binary& binary) {
  std::optional<Failure> failure;
  const std::unique_ptr<Module> module = device.load(binary, failure);
  if (!module) return failure ? failure->reason : "the test kernel does not load";
  const Plan plan = probe_plan();
  const DeviceAddress out = device.allocate(plan.tensors[0].bytes, "out");
  device.fill(out, std::byte{0xff}, plan.tensors[0].bytes);
  failure = device.run(*module, plan, {{out}, {}});
  if (failure) return failure->reason;
  std::vector<std::int32_t> got(kProbeThreads);
  device.download(std::as_writable_bytes(std::span(got)), out);
  device.free(out);
  for (std::uint32_t i = 0; i < kProbeThreads; ++i) {
    if (got[i] != kProbeFactor * static_cast<std::int32_t>(i) + 1)
      return fmt::format("the test kernel computed {} for thread {}", got[i], i);
  }
  return {};
}

std::string limits_text(const DeviceInfo& info) {
  return fmt::format(
      "{} ({}), {} SMs at {:.2f} GHz, {} KB of shared memory a block, {:.0f} MB L2, {:.0f} GB at {:.0f} GB/s",
      info.name, info.arch, info.limits.sm_count, info.clock_ghz, info.limits.smem_per_block_bytes / 1024,
      static_cast<double>(info.l2_bytes) / (1 << 20), static_cast<double>(info.memory_bytes) * 1e-9,
      info.memory_gbytes_per_s);
}

Check check_driver(const std::vector<DeviceInfo>& gpus, const std::string& why_none) {
  if (gpus.empty()) return {"NVIDIA driver", false, why_none, kInstallDriver};
  const std::string version = cuda::nvml_driver_version();
  return {"NVIDIA driver", true, version.empty() ? gpus[0].driver : fmt::format("{}, {}", version, gpus[0].driver), ""};
}

Check check_nvml(const DeviceInfo& gpu) {
  std::string why_not;
  if (cuda::make_nvml_monitor(gpu.uuid, &why_not)) return {"NVML", true, "watches the clocks of " + gpu.id, ""};
  return {"NVML", false, why_not,
          "install libnvidia-ml.so.1 (part of the driver): samples under lowered clocks are not dropped"};
}

/// Opens a device and probes it; a device that cannot be opened is a failed check.
template <typename Open>
Check check_opened(const DeviceInfo& info, Compiler* compiler, Open open) {
  if (compiler == nullptr) return {info.id, false, limits_text(info), "NVRTC is missing, so nothing can be run on it"};
  try {
    const std::unique_ptr<Device> device = open();
    return check_device(*device, *compiler);
  } catch (const Error& error) {
    return {info.id, false, error.what(), "end other programs that hold it, or reset it"};
  }
}

std::pair<Check, std::unique_ptr<Compiler>> check_nvrtc() {
  try {
    std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
    Check check{"NVRTC", true, fmt::format("{} at {}", compiler->version(), compiler->path()), ""};
    return {std::move(check), std::move(compiler)};
  } catch (const Error& error) {
    return {Check{"NVRTC", false, error.what(), "install the CUDA Toolkit, or `pip install nvidia-cuda-nvrtc`"},
            nullptr};
  }
}

Check check_virtual_gpus(Compiler* compiler) {
  const std::vector<std::string> models = vgpu::model_names();
  const std::string model = models.front();
  Check check = check_opened(vgpu::model_info(model), compiler, [&] { return vgpu::make_device(model); });
  check.name = "virtual GPU";
  if (check.ok) check.found = fmt::format("models {}", fmt::join(models, ", "));
  return check;
}

}  // namespace

Check check_device(Device& device, Compiler& compiler) {
  const DeviceInfo& info = device.info();
  try {
    auto compiled = compiler.compile(kProbe, info.arch, 0);
    if (const Failure* failure = std::get_if<Failure>(&compiled)) {
      return {info.id, false, "the test kernel does not compile: " + failure->reason, "install another NVRTC"};
    }
    const std::string wrong = run_probe(device, std::get<Binary>(compiled));
    if (wrong.empty()) return {info.id, true, limits_text(info), ""};
    return {info.id, false, wrong, "check the GPU with nvidia-smi, reset it or restart the machine"};
  } catch (const Error& error) {
    return {info.id, false, error.what(), "mend what is named, or choose another device"};
  }
}

DoctorReport examine_machine() {
  DoctorReport report;
  std::string why_none;
  const std::vector<DeviceInfo> gpus = cuda::list_devices(&why_none);
  report.checks.push_back(check_driver(gpus, why_none));
  auto [nvrtc, compiler] = check_nvrtc();
  report.checks.push_back(nvrtc);
  int ordinal = 0;
  for (const DeviceInfo& gpu : gpus) {
    report.checks.push_back(check_opened(gpu, compiler.get(), [&] { return cuda::make_device(ordinal); }));
    ++ordinal;
  }
  if (!gpus.empty()) report.checks.push_back(check_nvml(gpus[0]));
  report.checks.push_back(check_virtual_gpus(compiler.get()));
  return report;
}

}  // namespace evo

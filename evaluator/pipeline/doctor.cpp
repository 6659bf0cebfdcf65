#include "evaluator/pipeline/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "engine/base/error.h"
#include "engine/device/launch_rules.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/hosts/devices.h"

namespace evo::embedded {
extern const std::string_view doctor_probe;  // evaluator/kernels/doctor_probe.cu
}

namespace evo {
namespace {

constexpr std::uint32_t kProbeThreads = 64;
constexpr std::int32_t kProbeFactor = 3;

Plan probe_plan() {
  Plan plan;
  plan.tensors = {{"out", DType::s32, kProbeThreads * sizeof(std::int32_t), true}};
  Launch launch;
  launch.kernel = "evo_probe";
  launch.block = {kProbeThreads, 1, 1};
  launch.arguments = {{Argument::Kind::tensor, 0}, Argument::of_int(kProbeFactor)};
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

/// Opens a device and probes it. A device that does not open is a failed check.
Check check_opened(const DeviceInfo& info, const DeviceOpener& open) {
  std::unique_ptr<Compiler> compiler;
  try {
    compiler = open_compiler(info.kind);
  } catch (const Error&) {
    return {info.id, false, limits_text(info), "its compiler is missing, so nothing can be run on it", info.kind};
  }
  try {
    return check_device(*open(), *compiler);
  } catch (const Error& error) {
    return {info.id, false, error.what(), "end other programs that hold it, or reset it", info.kind};
  }
}

Check check_nvrtc() {
  try {
    Nvrtc nvrtc = load_nvrtc(NvrtcEnvironment::of_process());
    const std::string path = nvrtc.path;
    return {"NVRTC", true, fmt::format("{} at {}", make_compiler(std::move(nvrtc))->version(), path), ""};
  } catch (const Error& error) {
    return {"NVRTC", false, error.what(), "install the CUDA Toolkit, or `pip install nvidia-cuda-nvrtc`"};
  }
}

}  // namespace

Check check_device(Device& device, Compiler& compiler) {
  const DeviceInfo& info = device.info();
  Check check{info.id, false, "", "", info.kind};
  try {
    auto compiled = compiler.compile(embedded::doctor_probe, info.arch, 0);
    if (const Failure* failure = std::get_if<Failure>(&compiled)) {
      check.found = "the test kernel does not compile: " + failure->reason;
      check.fix = "install another NVRTC";
      return check;
    }
    check.found = run_probe(device, std::get<Binary>(compiled));
    check.ok = check.found.empty();
    if (check.ok) check.found = limits_text(info);
    if (!check.ok) check.fix = "check the GPU with nvidia-smi, reset it or restart the machine";
  } catch (const Error& error) {
    check.found = error.what();
    check.fix = "correct what is named, or choose another device";
  }
  return check;
}

std::optional<Check> check_limits(const DeviceInfo& info) {
  const std::string differences = differences_from_rules(info.limits);
  if (differences.empty()) return std::nullopt;
  return Check{"limits of " + info.id, false, differences,
               fmt::format("occupancy may be wrong: correct the rules of sm_{} in engine/device/launch_rules.cpp",
                           info.limits.sm)};
}

DoctorReport examine_machine() {
  DoctorReport report;
  report.checks.push_back(check_nvrtc());
  std::vector<Check> limits;
  const DeviceProbe probe = [&](const DeviceInfo& info, const DeviceOpener& open) {
    if (const std::optional<Check> differs = check_limits(info)) limits.push_back(*differs);
    return check_opened(info, open);
  };
  for (const DeviceBackend& backend : device_backends()) {
    std::ranges::move(backend.examine(probe), std::back_inserter(report.checks));
  }
  std::ranges::move(limits, std::back_inserter(report.checks));
  return report;
}

}  // namespace evo

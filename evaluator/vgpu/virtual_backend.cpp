#include "evaluator/vgpu/virtual_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "evaluator/base/random.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::vgpu {
namespace {

/// Constant, because what a strategy asks next depends on how many answers it lacks: the same seed then gives the same
/// run on machines with any number of cores.
constexpr std::size_t kWidth = 4;
/// Interpreting a case takes seconds.
constexpr double kRunDeadlineS = 60;
/// About 1 GFLOP of tensor-core work is interpreted in a second.
constexpr double kGridWork = 1.2e9;
/// A case of this much work takes a tenth of a second.
constexpr double kHeldOutWork = 1e8;
constexpr double kRunS = 60;

std::vector<DeviceInfo> list_models() {
  std::vector<DeviceInfo> models;
  for (const std::string& name : model_names()) models.push_back(model_info(name));
  return models;
}

std::string model_or_default(std::string_view name) {
  return name.empty() ? model_names().front() : std::string(name);
}

std::vector<Check> examine(const DeviceProbe& probe) {
  const std::vector<std::string> models = model_names();
  Check check = probe(model_info(models.front()), [&] { return make_device(models.front()); });
  check.name = "virtual GPU";
  if (check.ok) check.found = fmt::format("models {}", fmt::join(models, ", "));
  return {check};
}

}  // namespace

DeviceBackend device_backend() {
  return {.kind = {.name = std::string(kKind),
                   .title = "the virtual GPU",
                   .modelled = true,
                   .models = "cuda",
                   .cold_timing = false,
                   .sanitises = true,
                   .checks_accesses = true,
                   .repeatable = true,
                   .on_host = true,
                   .width = kWidth,
                   .run_deadline_s = kRunDeadlineS,
                   .grid_work = kGridWork,
                   .held_out_work = kHeldOutWork,
                   .run_s = kRunS},
          .usage = fmt::format("vgpu and vgpu:MODEL ({})", fmt::join(model_names(), ", ")),
          .list = [](std::string*) { return list_models(); },
          .find = [](std::string_view name) { return model_info(model_or_default(name)); },
          .open = [](std::string_view name,
                     int threads) { return make_device(model_or_default(name), threads, fresh_salt()); },
          .open_compiler = make_nvrtc_compiler,
          .examine = examine};
}

}  // namespace evo::vgpu

#include "evaluator/cuda/cupti.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/compile/nvrtc.h"

namespace evo::cuda {
namespace fs = std::filesystem;
namespace {

constexpr std::array kLibraryNames = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

/// The first function that the library lacks; null when it has all.
const char* bind_all(const SharedLibrary& library, Cupti& cupti) {
  Binder bind(library);
  bind(cupti.result_string, "cuptiGetResultString");
  bind(cupti.initialize, "cuptiProfilerInitialize");
  bind(cupti.availability, "cuptiProfilerGetCounterAvailability");
  bind(cupti.chip_name, "cuptiDeviceGetChipName");
  bind(cupti.host_initialize, "cuptiProfilerHostInitialize");
  bind(cupti.host_deinitialize, "cuptiProfilerHostDeinitialize");
  bind(cupti.metric_properties, "cuptiProfilerHostGetMetricProperties");
  bind(cupti.add_metrics, "cuptiProfilerHostConfigAddMetrics");
  bind(cupti.config_size, "cuptiProfilerHostGetConfigImageSize");
  bind(cupti.config_image, "cuptiProfilerHostGetConfigImage");
  bind(cupti.evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  bind(cupti.enable, "cuptiRangeProfilerEnable");
  bind(cupti.disable, "cuptiRangeProfilerDisable");
  bind(cupti.data_size, "cuptiRangeProfilerGetCounterDataSize");
  bind(cupti.data_initialize, "cuptiRangeProfilerCounterDataImageInitialize");
  bind(cupti.set_config, "cuptiRangeProfilerSetConfig");
  bind(cupti.start, "cuptiRangeProfilerStart");
  bind(cupti.stop, "cuptiRangeProfilerStop");
  bind(cupti.decode, "cuptiRangeProfilerDecodeData");
  bind(cupti.data_info, "cuptiRangeProfilerGetCounterDataInfo");
  return bind.missing();
}

/// Where libcupti may lie, the loader's path first.
std::vector<std::string> places() {
  std::vector<std::string> files(kLibraryNames.begin(), kLibraryNames.end());
  std::error_code ignored;
  for (const fs::path& folder : nvrtc_folders(NvrtcEnvironment::of_process())) {
    for (const fs::path& place : {folder, folder.parent_path() / "extras/CUPTI/lib64"})
      for (const char* name : kLibraryNames)
        if (fs::exists(place / name, ignored)) files.push_back((place / name).string());
  }
  return files;
}

}  // namespace

std::shared_ptr<const Cupti> load_cupti(std::string* why_not) {
  std::string why =
      "no hardware counters: libcupti.so not found; install the CUDA Toolkit, or `pip install nvidia-cuda-cupti`";
  for (const std::string& place : places()) {
    auto cupti = std::make_shared<Cupti>();
    cupti->library = SharedLibrary::open(place);
    if (!cupti->library) continue;
    const char* missing = bind_all(cupti->library, *cupti);
    if (missing == nullptr) return cupti;
    why = fmt::format("no hardware counters: {} is older than CUDA 12.6: it has no {}; install a newer CUDA Toolkit",
                      place, missing);
  }
  if (why_not != nullptr) *why_not = why;
  return nullptr;
}

void require(const Cupti& cupti, CUptiResult result, const std::string& what) {
  if (result == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  if (cupti.result_string(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown error of CUPTI";
  std::string text = fmt::format("no hardware counters: {}: {}", what, name);
  // developer.nvidia.com/ERR_NVGPUCTRPERM
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    text +=
        ": this user may not read them; load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root or "
        "with CAP_SYS_ADMIN";
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_HARDWARE_BUSY)
    text += ": another profiler reads them now; end it and try again";
  throw machine_error(text);
}

}  // namespace evo::cuda

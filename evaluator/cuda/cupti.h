#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <memory>
#include <string>

#include "evaluator/base/shared_library.h"

namespace evo::cuda {

/// CUPTI's functions for reading hardware counters, bound at run time (CUPTI 12.6 or newer: host and range profiling
/// API). Tests fill it with fakes.
struct Cupti {
  decltype(&cuptiGetResultString) result_string = nullptr;
  decltype(&cuptiProfilerInitialize) initialize = nullptr;
  decltype(&cuptiProfilerGetCounterAvailability) availability = nullptr;
  decltype(&cuptiDeviceGetChipName) chip_name = nullptr;
  decltype(&cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&cuptiProfilerHostGetMetricProperties) metric_properties = nullptr;
  decltype(&cuptiProfilerHostConfigAddMetrics) add_metrics = nullptr;
  decltype(&cuptiProfilerHostGetConfigImageSize) config_size = nullptr;
  decltype(&cuptiProfilerHostGetConfigImage) config_image = nullptr;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) evaluate = nullptr;
  decltype(&cuptiRangeProfilerEnable) enable = nullptr;
  decltype(&cuptiRangeProfilerDisable) disable = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataSize) data_size = nullptr;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) data_initialize = nullptr;
  decltype(&cuptiRangeProfilerSetConfig) set_config = nullptr;
  decltype(&cuptiRangeProfilerStart) start = nullptr;
  decltype(&cuptiRangeProfilerStop) stop = nullptr;
  decltype(&cuptiRangeProfilerDecodeData) decode = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataInfo) data_info = nullptr;

  SharedLibrary library;  ///< Keeps the functions valid; empty with fakes.
};

/// Looks for libcupti where NVRTC is looked for, and in the toolkit's extras/CUPTI. Null when there is none or it is
/// too old; `why_not` then says so in one line, with what to do.
std::shared_ptr<const Cupti> load_cupti(std::string* why_not);

/// Throws machine_error "what: CUPTI_ERROR_..." unless the call succeeded; the remedy stands behind it where it is
/// known.
void require(const Cupti& cupti, CUptiResult result, const std::string& what);

}  // namespace evo::cuda

#include "tests/evaluator/fake_cupti.h"

namespace evo::test {
namespace {

FakeCupti* fake = nullptr;

/// A handle that points to something.
template <typename Handle>
Handle* handle() {
  static int thing = 0;
  return reinterpret_cast<Handle*>(&thing);
}

}  // namespace

FakeCupti::FakeCupti() {
  fake = this;
}

FakeCupti::~FakeCupti() {
  fake = nullptr;
}

std::shared_ptr<const cuda::Cupti> FakeCupti::functions() {
  auto cupti = std::make_shared<cuda::Cupti>();
  cupti->result_string = [](CUptiResult result, const char** text) {
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_OTHER";
    return CUPTI_SUCCESS;
  };
  cupti->initialize = [](CUpti_Profiler_Initialize_Params*) { return CUPTI_SUCCESS; };
  cupti->availability = [](CUpti_Profiler_GetCounterAvailability_Params* params) {
    params->counterAvailabilityImageSize = 16;
    return CUPTI_SUCCESS;
  };
  cupti->chip_name = [](CUpti_Device_GetChipName_Params* params) {
    params->pChipName = "GH100";
    return CUPTI_SUCCESS;
  };
  cupti->host_initialize = [](CUpti_Profiler_Host_Initialize_Params* params) {
    params->pHostObject = handle<CUpti_Profiler_Host_Object>();
    fake->chip = params->pChipName;
    ++fake->hosts;
    return CUPTI_SUCCESS;
  };
  cupti->host_deinitialize = [](CUpti_Profiler_Host_Deinitialize_Params*) {
    --fake->hosts;
    return CUPTI_SUCCESS;
  };
  cupti->metric_properties = [](CUpti_Profiler_Host_GetMetricProperties_Params* params) {
    return fake->unknown_metric == params->pMetricName ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
  };
  cupti->add_metrics = [](CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
    fake->metrics.assign(params->ppMetricNames, params->ppMetricNames + params->numMetrics);
    return CUPTI_SUCCESS;
  };
  cupti->config_size = [](CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
    params->configImageSize = 32;
    return CUPTI_SUCCESS;
  };
  cupti->config_image = [](CUpti_Profiler_Host_GetConfigImage_Params*) { return CUPTI_SUCCESS; };
  cupti->evaluate = [](CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
    for (std::size_t i = 0; i < params->numMetrics; ++i)
      params->pMetricValues[i] = 100.0 * static_cast<double>(params->rangeIndex) + static_cast<double>(i);
    if (fake->value_of_first != 0) params->pMetricValues[0] = fake->value_of_first;
    return CUPTI_SUCCESS;
  };
  cupti->enable = [](CUpti_RangeProfiler_Enable_Params* params) {
    if (fake->on_enable != CUPTI_SUCCESS) return fake->on_enable;
    params->pRangeProfilerObject = handle<CUpti_RangeProfiler_Object>();
    ++fake->enabled;
    return CUPTI_SUCCESS;
  };
  cupti->disable = [](CUpti_RangeProfiler_Disable_Params*) {
    --fake->enabled;
    return CUPTI_SUCCESS;
  };
  cupti->data_size = [](CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
    fake->ranges = params->maxNumOfRanges;
    params->counterDataSize = 64;
    return CUPTI_SUCCESS;
  };
  cupti->data_initialize = [](CUpti_RangeProfiler_CounterDataImage_Initialize_Params*) { return CUPTI_SUCCESS; };
  cupti->set_config = [](CUpti_RangeProfiler_SetConfig_Params*) { return CUPTI_SUCCESS; };
  cupti->start = [](CUpti_RangeProfiler_Start_Params*) { return CUPTI_SUCCESS; };
  cupti->stop = [](CUpti_RangeProfiler_Stop_Params*) { return CUPTI_SUCCESS; };
  cupti->decode = [](CUpti_RangeProfiler_DecodeData_Params*) { return CUPTI_SUCCESS; };
  cupti->data_info = [](CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
    params->numTotalRanges = fake->ranges - fake->missed_ranges;
    return CUPTI_SUCCESS;
  };
  return cupti;
}

}  // namespace evo::test

#include "evaluator/cuda/range_profiler.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "engine/base/error.h"

/// A parameter structure of CUPTI, with its size filled in.
#define EVO_PARAMS(type, name) \
  type##_Params name{};        \
  name.structSize = type##_Params_STRUCT_SIZE

namespace evo::cuda {
namespace {

std::vector<std::uint8_t> availability_of(const Cupti& cupti, CUcontext context) {
  EVO_PARAMS(CUpti_Profiler_GetCounterAvailability, params);
  params.ctx = context;
  require(cupti, cupti.availability(&params), "asking which counters there are");
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  require(cupti, cupti.availability(&params), "asking which counters there are");
  return image;
}

std::string chip_name(const Cupti& cupti, int ordinal) {
  EVO_PARAMS(CUpti_Device_GetChipName, params);
  params.deviceIndex = static_cast<std::size_t>(ordinal);
  require(cupti, cupti.chip_name(&params), "asking for the chip's name");
  return params.pChipName;
}

/// The profiler of a context, enabled as long as this lives.
class Enabled {
 public:
  Enabled(const Cupti& cupti, CUcontext context) : cupti_(cupti) {
    EVO_PARAMS(CUpti_RangeProfiler_Enable, params);
    params.ctx = context;
    require(cupti, cupti.enable(&params), "enabling the range profiler");
    profiler_ = params.pRangeProfilerObject;
  }
  ~Enabled() {
    EVO_PARAMS(CUpti_RangeProfiler_Disable, params);
    params.pRangeProfilerObject = profiler_;
    cupti_.disable(&params);
  }
  Enabled(const Enabled&) = delete;
  Enabled& operator=(const Enabled&) = delete;

  /// Room for the counters of so many launches.
  std::vector<std::uint8_t> make_data(std::span<const char* const> metrics, std::size_t launches) const {
    EVO_PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = const_cast<const char**>(metrics.data());
    size.numMetrics = metrics.size();
    size.maxNumOfRanges = launches;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(launches);
    require(cupti_, cupti_.data_size(&size), "making room for counters");
    std::vector<std::uint8_t> data(size.counterDataSize);
    EVO_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, params);
    params.pRangeProfilerObject = profiler_;
    params.counterDataSize = data.size();
    params.pCounterData = data.data();
    require(cupti_, cupti_.data_initialize(&params), "making room for counters");
    return data;
  }

  /// Whether the call went well.
  bool record(std::span<const std::uint8_t> config, std::vector<std::uint8_t>& data, std::size_t launches,
              const std::function<bool()>& call) const {
    EVO_PARAMS(CUpti_RangeProfiler_SetConfig, params);
    params.pRangeProfilerObject = profiler_;
    params.configSize = config.size();
    params.pConfig = config.data();
    params.counterDataImageSize = data.size();
    params.pCounterDataImage = data.data();
    params.range = CUPTI_AutoRange;
    params.replayMode = CUPTI_KernelReplay;
    params.maxRangesPerPass = launches;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    require(cupti_, cupti_.set_config(&params), "setting the counters up");
    EVO_PARAMS(CUpti_RangeProfiler_Start, start);
    start.pRangeProfilerObject = profiler_;
    require(cupti_, cupti_.start(&start), "starting to count");
    const bool good = call();
    EVO_PARAMS(CUpti_RangeProfiler_Stop, stop);
    stop.pRangeProfilerObject = profiler_;
    const CUptiResult stopped = cupti_.stop(&stop);
    if (!good) return false;
    require(cupti_, stopped, "ending to count");
    EVO_PARAMS(CUpti_RangeProfiler_DecodeData, decode);
    decode.pRangeProfilerObject = profiler_;
    require(cupti_, cupti_.decode(&decode), "reading counters");
    return true;
  }

 private:
  const Cupti& cupti_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

std::size_t recorded_ranges(const Cupti& cupti, std::span<const std::uint8_t> data) {
  EVO_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo, params);
  params.pCounterDataImage = data.data();
  params.counterDataImageSize = data.size();
  require(cupti, cupti.data_info(&params), "reading counters");
  return params.numTotalRanges;
}

}  // namespace

RangeProfiler::RangeProfiler(std::shared_ptr<const Cupti> cupti, CUcontext context, int ordinal)
    : cupti_(std::move(cupti)), context_(context) {
  EVO_PARAMS(CUpti_Profiler_Initialize, params);
  require(*cupti_, cupti_->initialize(&params), "starting CUPTI");
  const std::string chip = chip_name(*cupti_, ordinal);
  const std::vector<std::uint8_t> available = availability_of(*cupti_, context_);
  EVO_PARAMS(CUpti_Profiler_Host_Initialize, host);
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip.c_str();
  host.pCounterAvailabilityImage = available.data();
  require(*cupti_, cupti_->host_initialize(&host), "describing the counters of " + chip);
  host_ = host.pHostObject;
  try {
    choose_counters();
  } catch (...) {
    close_host();
    throw;
  }
}

RangeProfiler::~RangeProfiler() {
  close_host();
}

void RangeProfiler::close_host() {
  EVO_PARAMS(CUpti_Profiler_Host_Deinitialize, params);
  params.pHostObject = host_;
  cupti_->host_deinitialize(&params);
}

void RangeProfiler::choose_counters() {
  for (const Counter& counter : counters()) {
    EVO_PARAMS(CUpti_Profiler_Host_GetMetricProperties, known);
    known.pHostObject = host_;
    known.pMetricName = counter.metric.data();
    if (cupti_->metric_properties(&known) == CUPTI_SUCCESS) metrics_.push_back(counter.metric.data());
  }
  EVO_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, added);
  added.pHostObject = host_;
  added.ppMetricNames = metrics_.data();
  added.numMetrics = metrics_.size();
  require(*cupti_, cupti_->add_metrics(&added), "choosing counters");
  EVO_PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
  size.pHostObject = host_;
  require(*cupti_, cupti_->config_size(&size), "arranging counters into passes");
  config_.resize(size.configImageSize);
  EVO_PARAMS(CUpti_Profiler_Host_GetConfigImage, image);
  image.pHostObject = host_;
  image.configImageSize = config_.size();
  image.pConfigImage = config_.data();
  require(*cupti_, cupti_->config_image(&image), "arranging counters into passes");
}

std::vector<CounterValues> RangeProfiler::read(std::size_t launches, const std::function<bool()>& call) {
  const Enabled enabled(*cupti_, context_);
  std::vector<std::uint8_t> data = enabled.make_data(metrics_, launches);
  if (!enabled.record(config_, data, launches, call)) return {};
  const std::size_t ranges = recorded_ranges(*cupti_, data);
  if (ranges != launches)
    throw machine_error(fmt::format("no hardware counters: CUPTI saw {} of {} launches", ranges, launches));
  std::vector<CounterValues> all;
  for (std::size_t range = 0; range < ranges; ++range) {
    std::vector<double> values(metrics_.size());
    EVO_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, params);
    params.pHostObject = host_;
    params.pCounterDataImage = data.data();
    params.counterDataImageSize = data.size();
    params.rangeIndex = range;
    params.ppMetricNames = metrics_.data();
    params.numMetrics = metrics_.size();
    params.pMetricValues = values.data();
    require(*cupti_, cupti_->evaluate(&params), "computing counters");
    CounterValues& of_launch = all.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::isfinite(values[i])) of_launch.emplace(metrics_[i], values[i]);
  }
  return all;
}

}  // namespace evo::cuda

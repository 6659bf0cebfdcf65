#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/result/profile.h"
#include "evaluator/cuda/cupti.h"

namespace evo::cuda {

/// Reads the hardware counters of launches in one context. CUPTI runs each launch alone, as often as the counters need
/// (its "kernel replay"), and puts memory back in between: what the launches compute is what they would compute anyway.
/// Caches are as the launches left them, clocks as the GPU sets them.
class RangeProfiler {
 public:
  /// `ordinal`: of the context's device. The context is current, and outlives this object. Throws machine_error where
  /// counters cannot be read, with the remedy.
  RangeProfiler(std::shared_ptr<const Cupti> cupti, CUcontext context, int ordinal);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// `call` launches so many kernels, waits for them and says whether that went well; if not, there are no counters.
  /// Returns those of each launch, in order. Throws machine_error, also when CUPTI saw another number of launches.
  std::vector<CounterValues> read(std::size_t launches, const std::function<bool()>& call);

 private:
  void choose_counters();
  void close_host();

  std::shared_ptr<const Cupti> cupti_;
  CUcontext context_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<const char*> metrics_;
  std::vector<std::uint8_t> config_;
};

}  // namespace evo::cuda

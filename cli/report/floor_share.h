#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/task/floor.h"
#include "evaluator/device/device.h"
#include "evaluator/pipeline/gates.h"
#include "population/store/store.h"

namespace evo::cli {

/// The counters of a kernel at a shape.
struct CountedShare {
  bool modelled = false;   ///< The counters are those of a cost model.
  double duration_us = 0;  ///< Of the kernel's launches, without the gaps between them.
  double share = 0;        ///< The floor over it.
  std::optional<double> tensor_percent = {}, memory_percent = {};  ///< How busy they were in the longest launch.
  std::string bound = {};                                          ///< The bottleneck of the longest launch, in words.
};

struct KernelShare {
  CandidateId candidate = 0;
  double latency_us = 0;
  double share = 0;  ///< The floor over the latency: 1 cannot be beaten.
  std::optional<CountedShare> counted;
};

/// How near kernels come to the least time of one timed shape.
struct ShapeShare {
  std::string shape;
  Floor work;
  PhysicalFloor floor;
  std::vector<KernelShare> kernels;
};

/// The peak rates of the device of a record: its own where it is modelled, else those of the virtual GPU that models
/// it. Empty when there is none.
std::optional<DeviceInfo> rates_of(const DeviceRecord& record);

/// For each timed shape, the kernels in the order given. Warm timings count.
std::vector<ShapeShare> shares_of(const Task& task, const Target& target, const DeviceInfo& device,
                                  const std::vector<CandidateRow>& kernels);

}  // namespace evo::cli

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cli/model/modeller.h"
#include "engine/result/profile.h"
#include "engine/task/candidate.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// Where the time of kernels goes, by line of their sources: the cost model's share of each line, in launches that take
/// as long as counters say where they were read.
class LineShares {
 public:
  /// `device`: a virtual GPU.
  LineShares(const Task& task, const Target& target, const DeviceInfo& device);

  /// Of the candidate's first program at the first timed shape that it serves; line 0 stands for unknown ones. Empty
  /// where it cannot be modelled.
  std::map<std::uint32_t, double> of(const Candidate& candidate, const std::vector<Profile>& profiles);

 private:
  Task task_;
  Target target_;
  DeviceInfo device_;
  std::unique_ptr<Modeller> modeller_;  // made when it is needed: it has a process
};

}  // namespace evo::cli

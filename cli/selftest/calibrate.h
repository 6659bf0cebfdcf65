#pragma once

#include <map>
#include <string>

#include "engine/task/calibration.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// The worst error of an emulation over the cases of one regime.
struct Floor {
  double relative_l2 = 0;
  double row_l2 = 0;
  double cosine = 1;
  int cases = 0;
};

struct CalibrationResult {
  std::string task;
  DeviceInfo device;
  std::uint64_t salt = 0;
  double factor = 1.5;
  std::map<std::string, Floor> floors;   ///< By regime.
  std::map<std::string, Limits> limits;  ///< The floors times the factor.
};

/// Runs reference and emulation on every case of the validation grid and on more seeds. Throws usage_error when the
/// task has no limits.json with an emulation.
CalibrationResult calibrate(const SourceTree& tree, const Task& task, const DeviceInfo& device);

/// The text of limits.json with what was measured and where it comes from.
std::string with_measured(const SourceTree& tree, const Task& task, const CalibrationResult& result);

}  // namespace evo::cli

#pragma once

#include <string>
#include <vector>

#include "cli/subject/claim.h"
#include "engine/task/evaluation.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// What checking it gave.
struct Verification {
  Claim claim;
  DeviceInfo device;
  Evaluation evaluation;
  bool comparable = true;  ///< The same device model as the claim's: latencies can be compared.
  bool modelled = false;
  double tolerance = 0;  ///< Relative; 0: exact.
  bool reproduced = false;
  std::string why;  ///< In words, for either result.
};

/// Latencies agree when they differ by no more than `tolerance` of the claim, in either direction: a kernel
/// that is much faster than claimed shows that one of the two measurements is wrong.
bool agrees(double claimed_us, double found_us, double tolerance);

/// Fills in reproduced and why from the rest.
void decide(Verification& verification);

}  // namespace evo::cli

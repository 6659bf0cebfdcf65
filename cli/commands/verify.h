#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/subject/claim.h"
#include "engine/result/elite_check.h"
#include "engine/result/evaluation.h"
#include "evaluator/device/device.h"
#include "population/store/records.h"

namespace evo::cli {

/// The result of checking a claim again.
struct Verification {
  Claim claim;
  DeviceInfo device;
  Evaluation evaluation;
  bool comparable = true;  ///< The same device model as the claim's: latencies can be compared.
  bool modelled = false;
  double tolerance = 0;  ///< Relative; 0: exact.
  /// The modelled latency on the claim's own inputs, where it is another one on fresh inputs; 0: nobody asked.
  double own_inputs_us = 0;
  bool reproduced = false;
  std::string why;                     ///< In words, for either result.
  std::vector<std::string> held_out;   ///< Random sizes that no search has used: "N=513,S=7".
  CheckedElite checked;                ///< As elites are: what a search has no time for.
  std::optional<AttackRecord> attack;  ///< Of its finding: to be kept for later candidates of the task.
};

/// Whether two latencies differ by at most `tolerance`, relative to the claimed one, in either direction: when a kernel
/// is much faster than claimed, one of the two measurements is wrong.
bool agrees(double claimed_us, double found_us, double tolerance);

/// Decides whether the claim is reproduced: sets `reproduced` and `why` from the other fields.
void decide(Verification& verification);

}  // namespace evo::cli

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/mutant.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// The verdict on one mutant or control.
struct SelftestRow {
  Mutant mutant;
  bool checked = false;  ///< False when this device kind cannot show the fault or run the family.
  Verdict verdict = Verdict::harness_failed;
  std::string reason;
  bool right = true;  ///< The verdict is an expected one, and the reason has the expected text.
};

struct SelftestResult {
  std::string task;
  std::string task_hash;
  DeviceInfo device;
  std::uint64_t salt = 0;  ///< Mixed into the seeds.
  std::vector<SelftestRow> rows;

  std::size_t checked() const {
    return static_cast<std::size_t>(std::ranges::count(rows, true, &SelftestRow::checked));
  }
  std::size_t wrong() const { return static_cast<std::size_t>(std::ranges::count(rows, false, &SelftestRow::right)); }
  /// At least one control was accepted, at least one mutant rejected, and no verdict is wrong.
  bool passed() const;
};

/// Evaluates each mutant of a task as a search would evaluate a candidate. `only`: names; empty: all. `salt` is
/// mixed into the seeds.
SelftestResult run_selftest(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                            const std::vector<std::string>& only, std::uint64_t salt);

}  // namespace evo::cli

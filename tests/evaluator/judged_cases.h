#pragma once

#include <optional>
#include <string>

#include "evaluator/compile/compiler.h"
#include "evaluator/kernels/device_judge.h"

namespace evo::testing {

/// A judge on an open device, whose kernels this machine's NVRTC compiles. Throws machine_error without one.
DeviceJudge judge_on(Device& device);

/// What comparisons have shown.
struct JudgedCases {
  int cases = 0;
  int passed = 0;          ///< Within their limits.
  std::string difference;  ///< The first one between device and host; empty: there is none.
};

/// Compares on the device and on the host: case after case other formats, sizes, errors and kinds of limits.
JudgedCases compare_both(Device& device, DeviceJudge& judge, int cases);

/// Draws on the device and on the host: every distribution, step and kind of draw that the device draws, in each of its
/// formats.
JudgedCases draw_both(Device& device, DeviceJudge& judge);

/// Six matrices of eleven rows of 35 elements.
CaseRecipe recipe_of(Distribution distribution, DType dtype, double gain, std::uint64_t seed);
/// Codes of them in groups of 9 of a row, of a row, of 2 rows, of a matrix or of all, by the number; and their scales.
CaseRecipe coded(CaseRecipe recipe, std::uint64_t number);

}  // namespace evo::testing

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/task/plan.h"
#include "engine/task/task.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/judge/oracle.h"

namespace evo {

/// One output of a call, compared with its oracle.
struct ComparedOutput {
  std::string name;
  Limits limits;
  Difference difference;
  /// The compared numbers, dense: codes with a scale are values here. `want` is one of the given oracles.
  DType got_dtype = DType::f32;
  std::vector<std::byte> got = {};
  const ExpectedOutput* want = nullptr;
  std::uint64_t elements = 0;
  std::uint64_t rows = 0;  ///< Elements over the size of the last dim.
};

/// So many elements an output has.
std::uint64_t output_elements(const Tensor& output, const Bindings& options, const Shape& shape);

/// Elements of the last dim of an output: a row. `output` counts those that are there under the options.
std::uint64_t row_of(const Task& task, const Bindings& options, const Shape& shape, std::size_t output);

/// What an output is compared for on a device. `row`: as of row_of.
ComparedFor compared_for(const Limits& limits, std::uint64_t row);

/// Compares what a call wrote with its oracle: dense elements, codes times their scales, and any index of an equal
/// element where the task says so. `outputs`: the bytes of every output of the plan, in order. `limits_of`: those of
/// one output.
std::vector<ComparedOutput> compare_outputs(const Task& task, const Bindings& options, const Case& one,
                                            const Plan& plan, const Expected& expected, std::vector<std::byte> outputs,
                                            const std::function<Limits(const Tensor&)>& limits_of);

}  // namespace evo

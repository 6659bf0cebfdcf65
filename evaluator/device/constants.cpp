#include "evaluator/device/constants.h"

#include <fmt/format.h>

#include <algorithm>

#include "evaluator/numbers/elements.h"

namespace evo {

std::uint64_t bytes_of(const Constant& constant, const Plan& plan) {
  if (constant.source.kind == Argument::Kind::tensor) return plan.tensors.at(constant.source.index).bytes;
  return bytes_of(constant.source.fields).size();
}

std::optional<Failure> misfit(const Constant& constant, const Plan& plan, std::optional<std::uint64_t> variable_bytes) {
  Failure failure;
  failure.verdict = Verdict::launch_failed;
  if (!variable_bytes) {
    failure.reason = fmt::format("the program has no variable {}", constant.symbol);
    return failure;
  }
  const std::uint64_t bytes = bytes_of(constant, plan);
  if (*variable_bytes == bytes) return std::nullopt;
  const bool tensor = constant.source.kind == Argument::Kind::tensor;
  failure.reason = fmt::format("variable {} has {} bytes, {} has {}", constant.symbol, *variable_bytes,
                               tensor ? plan.tensors.at(constant.source.index).name : "the value that fills it", bytes);
  return failure;
}

bool constants_hold_inputs(const Plan& plan) {
  return std::ranges::any_of(plan.constants,
                             [](const Constant& constant) { return constant.source.kind == Argument::Kind::tensor; });
}

}  // namespace evo

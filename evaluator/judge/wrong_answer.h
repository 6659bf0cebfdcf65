#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/judge/error_shape.h"
#include "evaluator/judge/output_comparison.h"

namespace evo {

/// An answer that departs from the reference's.
struct WrongAnswer {
  Mismatch mismatch;
  std::vector<NamedDim> dims;
  ErrorShape error;
  std::vector<bool> missing_rows = {};  ///< By row (last dim): no element is finite.
};

/// Numbers as an oracle in f32.
ExpectedOutput as_expected(const std::vector<double>& numbers);

/// The answer to a case, if an output breaks its limits when a factor of each group may differ.
std::optional<WrongAnswer> wrong_answer(const Task& task, const Bindings& options, const Case& one,
                                        const ComparedOutput& output, FreeFactor free = FreeFactor::none);

/// Where the worst element is and what the error looks like, on one line. Empty when no element
/// stands out.
std::string summary(const WrongAnswer& wrong);

}  // namespace evo

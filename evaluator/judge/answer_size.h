#pragma once

#include <cstdint>
#include <span>

#include "evaluator/judge/comparison.h"

namespace evo {

/// Fewer elements than this may all be small by chance: a sum of two numbers that nearly cancel.
inline constexpr std::uint64_t kFewElements = 16;

/// How large an answer is: root mean squares over its elements.
struct AnswerSize {
  double rms = 0;
  double change = 0;  ///< Of what the call changes of a tensor that it reads and writes. 0: of no other.
};

AnswerSize answer_size(const ExpectedOutput& answer);
/// The root mean square over those that are finite. 0: none is.
AnswerSize usual_size(std::span<const AnswerSize> sizes);

/// A difference from an answer of size `own`, with errors relative to the usual size where the answer is smaller. What
/// is absolute stays as it is.
Difference relative_to_usual(Difference difference, const AnswerSize& own, const AnswerSize& usual);

}  // namespace evo

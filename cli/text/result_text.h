#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"

/// What evaluations hold as facts, in words.
namespace evo::cli {

/// "relative L2 error 0.7 (limit 0.01)"
std::string miss_text(const Miss& miss);

/// "shape small, regime normal, seed 2: y: relative L2 error 0.7 (limit 0.01)"
std::string mismatch_text(const Mismatch& mismatch);

/// Why a candidate failed, on one line: the original of a duplicate, `reason`, and what is wrong with the answer.
std::string fault_text(const std::string& reason, const std::optional<Mismatch>& mismatch,
                       const std::optional<Original>& original);

/// The same, and what a wrong answer looks like.
std::string reason_text(const std::string& reason, const std::optional<Mismatch>& mismatch,
                        const std::optional<Original>& original = {});
/// Of an evaluation, or of an outcome in brief.
template <class Result>
std::string reason_text(const Result& result) {
  return reason_text(result.reason, result.mismatch, result.original);
}

/// "FASTER than elite 3: 0.9812 [0.9790, 0.9833] of its latency over 15 rounds, timed in turns"
std::string comparison_text(const EliteComparison& comparison);

/// "fp8_sdpa: 128 registers, 34816 B shared, 4 blocks/SM", and a line for each further launch.
std::string residency_text(const std::vector<Residency>& residency);

}  // namespace evo::cli

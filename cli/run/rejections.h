#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/task/verdict.h"
#include "population/store/store.h"

namespace evo::cli {

/// Candidates of a run that were rejected for one reason: the verdict and the words agree, but for numbers and for the
/// case that showed it.
struct Rejection {
  Verdict verdict = Verdict::harness_failed;
  std::string reason;  ///< Of the first one, complete.
  std::string family;  ///< Of the first one.
  std::uint64_t candidates = 0;
  CandidateId first = 0;
  /// What a virtual GPU says of the first one: a wrong argument, or what the sanitiser finds.
  std::vector<std::string> findings = {};
};

/// In the order of their first candidates. Duplicates are no rejections of their own.
std::vector<Rejection> rejections_of(const std::vector<OutcomeRow>& outcomes);

/// Takes a closer look (cli/check/closer_look.h) at the first rejection that deserves one among the first `most`.
void explain_first(std::vector<Rejection>& rejections, std::size_t most, const Store& store);

/// "3 compile_failed: scale/plain/kernel.cu:7: identifier "colums" is undefined", and a line for each finding.
std::string rejection_text(const Rejection& rejection);

nlohmann::ordered_json rejections_json(const std::vector<Rejection>& rejections);

}  // namespace evo::cli

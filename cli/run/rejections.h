#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/result/evaluation.h"
#include "population/store/store.h"

namespace evo::cli {

/// Candidates of a run that were rejected for one reason: the same limit of the same output, or the same words but for
/// numbers.
struct Rejection {
  Verdict verdict = Verdict::harness_failed;
  std::string reason;  ///< Of the first one, complete.
  std::string family;  ///< Of the first one.
  std::uint64_t candidates = 0;
  CandidateId first = 0;
  /// A virtual GPU's finding on the first one: a wrong argument, or one of the sanitiser.
  std::vector<std::string> findings = {};
};

/// Counts rejections by their reasons as candidates end.
class RejectionCounts {
 public:
  /// Valid candidates and duplicates are no rejections.
  void add(Verdict verdict, const std::string& reason, const std::optional<Mismatch>& mismatch,
           const std::string& family, CandidateId candidate);
  /// In the order of their first candidates.
  const std::vector<Rejection>& all() const { return rejections_; }
  /// Those whose newest candidates came last, the last one first.
  std::vector<Rejection> last(std::size_t most) const;

 private:
  std::vector<Rejection> rejections_;
  std::map<std::pair<Verdict, std::string>, std::size_t> places_;  ///< By verdict and kind of reason.
  std::vector<std::size_t> recent_;                                ///< Places, the last one at the end.
};

/// In the order of their first candidates. Duplicates are no rejections of their own.
std::vector<Rejection> rejections_of(const std::vector<OutcomeRow>& outcomes);

/// Takes a closer look (cli/check/closer_look.h) at the first rejection that deserves one among the first `most`.
void explain_first(std::vector<Rejection>& rejections, std::size_t most, const Store& store);

/// "3 compile_failed: scale/plain/kernel.cu:7: identifier "colums" is undefined", and a line for each finding.
std::string rejection_text(const Rejection& rejection);

nlohmann::ordered_json rejections_json(const std::vector<Rejection>& rejections);

}  // namespace evo::cli

#include "population/store/elites.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/hash.h"
#include "engine/strategy/strategy.h"

namespace evo {
namespace {

/// The newer of equally fast ones counts as the slower.
bool faster(const Contender& a, const Contender& b) {
  return a.latency_us != b.latency_us ? a.latency_us < b.latency_us : a.candidate < b.candidate;
}

EliteDecision replace_if_faster(const Contender& incumbent, const Contender& challenger) {
  if (challenger.latency_us < incumbent.latency_us * (1 - kModelledTie)) return {true, incumbent.candidate};
  return {};
}

/// Whether they differ by a part of the larger at most.
bool are_close(double a, double b, double part) {
  return std::abs(a - b) <= part * std::max(a, b);
}

}  // namespace

bool are_duplicates(const Contender& a, const Contender& b) {
  if (a.source_hash == b.source_hash || (!a.binary_hash.empty() && a.binary_hash == b.binary_hash)) return true;
  return !a.modelled_family.empty() && a.modelled_family == b.modelled_family && a.registers == b.registers &&
         are_close(a.latency_us, b.latency_us, kModelledTie) && are_close(a.error, b.error, kSameError);
}

EliteDecision decide(std::span<const Contender> elites, const Contender& challenger) {
  if (!(std::isfinite(challenger.latency_us) && challenger.latency_us > 0)) return {};
  const auto is_duplicate = [&](const Contender& elite) { return are_duplicates(elite, challenger); };
  const auto duplicate_count = std::count_if(elites.begin(), elites.end(), is_duplicate);
  if (duplicate_count > 1) return {};
  if (duplicate_count == 1)
    return replace_if_faster(*std::find_if(elites.begin(), elites.end(), is_duplicate), challenger);
  if (elites.size() < kEliteCount) return {true, {}};
  return replace_if_faster(*std::max_element(elites.begin(), elites.end(), faster), challenger);
}

std::string binary_hash_of(const Candidate& candidate, const Evaluation& evaluation) {
  if (evaluation.builds.empty()) return {};
  std::vector<std::string> parts;
  for (const Build& build : evaluation.builds) {
    if (build.cubin_hash.empty()) return {};
    parts.push_back(build.specialisation + ":" + build.cubin_hash);
  }
  std::sort(parts.begin(), parts.end());
  Hasher hasher;
  for (const std::string& part : parts) hasher.add(part);
  return hasher.add(candidate.plans_hash()).hex();
}

}  // namespace evo

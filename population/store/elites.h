#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"

namespace evo {

/// A candidate as the competition sees it.
struct Contender {
  std::int64_t candidate = 0;
  double latency_us = 0;
  std::string source_hash;
  std::string binary_hash;  ///< binary_hash_of; empty when unknown.
};

/// The fate of a challenger.
struct EliteDecision {
  bool enters = false;
  std::optional<std::int64_t> displaces;  ///< The elite that has to go.
};

/// Decides whether a valid challenger becomes one of at most kEliteCount elites, given in any order.
/// The slowest goes; of equally fast ones the incumbent stays. A challenger with the source or the binary of
/// an elite is the same kernel measured again: it competes with that elite only, and stays out when it is the
/// duplicate of two.
EliteDecision decide(std::span<const Contender> elites, const Contender& challenger);

/// The program as one text: the cubins of all builds and the launch plans (equal cubins in other grids are another
/// kernel). Empty unless every build has a cubin.
std::string binary_hash_of(const Candidate& candidate, const Evaluation& evaluation);

}  // namespace evo

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
  std::string binary_hash;           ///< binary_hash_of; empty when unknown.
  std::string modelled_family = {};  ///< Its family, where its latency is modelled.
  double error = 0;                  ///< Its worst relative L2 error.
  std::int64_t registers = 0;        ///< The largest among its launched kernels.
};

/// Equal modelled latencies differ by less, as a part of them: by the order of a sum.
inline constexpr double kModelledTie = 1e-9;
/// Worst errors of one kernel on other inputs differ by less, as a part of them.
inline constexpr double kSameError = 0.05;

/// Whether two candidates count as one kernel: they have the same source or the same binary; or they are of one family,
/// take as many registers, are as fast by the cost model and err as much, so that what differs made no difference.
bool are_duplicates(const Contender& a, const Contender& b);

/// The fate of a challenger.
struct EliteDecision {
  bool enters = false;
  std::optional<std::int64_t> displaces;  ///< The elite that has to go.
};

/// Decides whether a valid challenger becomes one of at most kEliteCount elites, given in any order.
/// The slowest goes; of equally fast ones the incumbent stays. A challenger that is a duplicate of an elite competes
/// with that elite only, and stays out when it is the duplicate of two.
EliteDecision decide(std::span<const Contender> elites, const Contender& challenger);

/// The program as one text: the cubins of all builds and the launch plans (equal cubins in other grids are another
/// kernel). Empty unless every build has a cubin.
std::string binary_hash_of(const Candidate& candidate, const Evaluation& evaluation);

}  // namespace evo

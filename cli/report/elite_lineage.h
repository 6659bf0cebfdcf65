#pragma once

#include <optional>
#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// A candidate in the tree of the elites' ancestors.
struct LineageNode {
  CandidateId candidate = 0;
  std::optional<CandidateId> parent;  ///< The first one: the tree's edge.
  std::vector<CandidateId> further;   ///< Its other parents.
  std::string op;
  Verdict verdict = Verdict::harness_failed;
  std::optional<double> latency_us;
  int rank = 0;  ///< 1, 2, 3 for an elite of those asked for, else 0.
  Genome genome;
  std::vector<GeneDifference> changes;  ///< From the parent; none for the first of a tree.
  std::string source = {};              ///< Empty where the database has none.
  std::string source_change = {};       ///< Unified diff from the parent's source.
};

/// The ancestors of the elites along first parents, each once, parents before their children. `elites`: in the order of
/// their ranks.
std::vector<LineageNode> elite_lineage(const Store& store, const std::vector<CandidateId>& elites);

}  // namespace evo::cli

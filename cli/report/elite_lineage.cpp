#include "cli/report/elite_lineage.h"

#include <fmt/format.h>

#include <map>

#include "cli/sources/sources.h"
#include "cli/subject/lookup.h"
#include "cli/text/text_diff.h"

namespace evo::cli {

std::vector<LineageNode> elite_lineage(const Store& store, const std::vector<CandidateId>& elites) {
  std::map<CandidateId, LineageNode> nodes;  // A parent has a smaller number than its children.
  for (const CandidateId elite : elites) {
    std::optional<CandidateId> next = elite;
    while (next && !nodes.contains(*next)) {
      const CandidateRow row = find_candidate(store, *next);
      LineageNode& node = nodes[row.id];
      node = {.candidate = row.id,
              .parent = {},
              .further = row.parents,
              .op = row.op,
              .verdict = row.evaluation.verdict,
              .latency_us = latency_of(row.evaluation),
              .genome = row.genome,
              .changes = {},
              .source = all_sources(row)};
      if (!row.parents.empty()) {
        node.parent = row.parents.front();
        node.further.erase(node.further.begin());
      }
      next = node.parent;
    }
  }
  for (std::size_t i = 0; i < elites.size(); ++i) nodes[elites[i]].rank = static_cast<int>(i) + 1;
  std::vector<LineageNode> tree;
  for (auto& [id, node] : nodes) {
    if (node.parent) {
      const LineageNode& parent = nodes[*node.parent];
      node.changes = differences(parent.genome, node.genome);
      node.source_change = unified_diff(parent.source, node.source, fmt::format("candidate {}", parent.candidate),
                                        fmt::format("candidate {}", id));
    }
    tree.push_back(node);
  }
  return tree;
}

}  // namespace evo::cli

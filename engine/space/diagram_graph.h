#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/hash.h"

namespace evo {

/// Numbers of genomes are exact below this one, else saturated there.
inline constexpr std::uint64_t kSaturated = std::uint64_t{1} << 63;
/// The sum of two such numbers.
inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return a >= kSaturated - b ? kSaturated : a + b;
}

/// The nodes of a decision diagram and the edges between them.
struct DiagramGraph {
  using NodeId = std::uint32_t;
  static constexpr NodeId kDead = 0;  ///< No genome is below.
  static constexpr NodeId kEnd = 1;   ///< Every gene has its allele.

  struct Node {
    std::uint32_t first_edge = 0;  ///< One edge for each allele; a single one when the gene is inactive.
    std::uint32_t edges = 0;
    bool active = true;
    std::uint64_t count = 0;  ///< Genomes below, saturated at 2^63.
    double weight = 0;        ///< The same, approximately.
  };

  std::vector<Node> nodes = {{0, 0, true, 0, 0.0}, {0, 0, true, 1, 1.0}};  // kDead, kEnd
  std::vector<NodeId> edges;

  NodeId child(NodeId node, std::size_t edge) const { return edges[nodes[node].first_edge + edge]; }
};

/// Makes a diagram's nodes from the bottom up: one node for equal children, none where all are dead.
class DiagramReducer {
 public:
  using NodeId = DiagramGraph::NodeId;
  DiagramReducer(DiagramGraph& diagram, std::size_t levels) : diagram_(diagram), unique_(levels) {}

  NodeId node(std::size_t level, bool active, const std::vector<NodeId>& children) {
    if (std::all_of(children.begin(), children.end(), [](NodeId child) { return child == DiagramGraph::kDead; }))
      return DiagramGraph::kDead;
    std::vector<NodeId> key = children;
    key.push_back(active);
    const auto [found, added] = unique_[level].emplace(std::move(key), static_cast<NodeId>(diagram_.nodes.size()));
    if (!added) return found->second;
    DiagramGraph::Node node;
    node.first_edge = static_cast<std::uint32_t>(diagram_.edges.size());
    node.edges = static_cast<std::uint32_t>(children.size());
    node.active = active;
    for (const NodeId child : children) {
      node.count = saturating_sum(node.count, diagram_.nodes[child].count);
      node.weight += diagram_.nodes[child].weight;
      diagram_.edges.push_back(child);
    }
    diagram_.nodes.push_back(node);
    return found->second;
  }

 private:
  DiagramGraph& diagram_;
  std::vector<std::unordered_map<std::vector<NodeId>, NodeId, SequenceHash>> unique_;
};

}  // namespace evo

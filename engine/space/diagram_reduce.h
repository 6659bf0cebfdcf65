#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/sequence_hash.h"
#include "engine/space/diagram_nodes.h"

namespace evo::diagram {

/// Makes a diagram's nodes from the bottom up: one node for equal children, none where all are dead.
class Reducer {
 public:
  /// Fills `nodes` and `edges`.
  Reducer(std::vector<Node>& nodes, std::vector<NodeId>& edges, std::size_t levels)
      : nodes_(nodes), edges_(edges), unique_(levels) {
    nodes = {{0, 0, true, 0, 0.0}, {0, 0, true, 1, 1.0}};  // kDead, kEnd
  }

  NodeId node(std::size_t level, bool active, const std::vector<NodeId>& children) {
    if (std::all_of(children.begin(), children.end(), [](NodeId child) { return child == kDead; })) return kDead;
    std::vector<NodeId> key = children;
    key.push_back(active);
    const auto [found, added] = unique_[level].emplace(std::move(key), static_cast<NodeId>(nodes_.size()));
    if (!added) return found->second;
    Node node;
    node.first_edge = static_cast<std::uint32_t>(edges_.size());
    node.edges = static_cast<std::uint32_t>(children.size());
    node.active = active;
    for (const NodeId child : children) {
      node.count = saturating_sum(node.count, nodes_[child].count);
      node.weight += nodes_[child].weight;
      edges_.push_back(child);
    }
    nodes_.push_back(node);
    return found->second;
  }

 private:
  // Both at most 2^63, whose sum would wrap.
  static std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kSaturated = std::uint64_t{1} << 63;
    return a >= kSaturated - b ? kSaturated : a + b;
  }

  std::vector<Node>& nodes_;
  std::vector<NodeId>& edges_;
  std::vector<std::unordered_map<std::vector<NodeId>, NodeId, SequenceHash>> unique_;
};

}  // namespace evo::diagram

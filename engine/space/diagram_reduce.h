#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/sequence_hash.h"
#include "engine/space/diagram.h"

namespace evo {

/// Makes a diagram's nodes from the bottom up: one node for equal children, none where all are dead.
class Diagram::Reducer {
 public:
  Reducer(Diagram& diagram, std::size_t levels) : diagram_(diagram), unique_(levels) {
    diagram.nodes_ = {{0, 0, true, 0, 0.0}, {0, 0, true, 1, 1.0}};  // kDead, kEnd
  }

  NodeId node(std::size_t level, bool active, const std::vector<NodeId>& children) {
    if (std::all_of(children.begin(), children.end(), [](NodeId child) { return child == kDead; })) return kDead;
    std::vector<NodeId> key = children;
    key.push_back(active);
    const auto [found, added] = unique_[level].emplace(std::move(key), static_cast<NodeId>(diagram_.nodes_.size()));
    if (!added) return found->second;
    Node node;
    node.first_edge = static_cast<std::uint32_t>(diagram_.edges_.size());
    node.edges = static_cast<std::uint32_t>(children.size());
    node.active = active;
    for (const NodeId child : children) {
      node.count = saturating_sum(node.count, diagram_.nodes_[child].count);
      node.weight += diagram_.nodes_[child].weight;
      diagram_.edges_.push_back(child);
    }
    diagram_.nodes_.push_back(node);
    return found->second;
  }

 private:
  // Both at most 2^63, whose sum would wrap.
  static std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kSaturated = std::uint64_t{1} << 63;
    return a >= kSaturated - b ? kSaturated : a + b;
  }

  Diagram& diagram_;
  std::vector<std::unordered_map<std::vector<NodeId>, NodeId, SequenceHash>> unique_;
};

}  // namespace evo

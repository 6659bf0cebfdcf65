#include "engine/space/diagram.h"

#include <algorithm>

namespace evo {

std::size_t Diagram::pick(const Node& node, Rng& rng) const {
  if (node.count < kSaturated) {
    std::uint64_t drawn = rng.below(node.count);
    for (std::size_t edge = 0;; ++edge) {
      const std::uint64_t below = graph_.nodes[graph_.edges[node.first_edge + edge]].count;
      if (drawn < below) return edge;
      drawn -= below;
    }
  }
  double drawn = rng.unit() * node.weight;
  std::size_t last = 0;
  for (std::size_t edge = 0; edge < node.edges; ++edge) {
    const double below = graph_.nodes[graph_.edges[node.first_edge + edge]].weight;
    if (below == 0) continue;
    last = edge;
    if (drawn < below) break;
    drawn -= below;
  }
  return last;
}

template <typename Choose>
Path Diagram::descend(const Choose& choose) const {
  Path path;
  for (NodeId node = root_; path.size() < levels_;) {
    const std::size_t edge = choose(node);
    path.push_back(graph_.nodes[node].active ? static_cast<int>(edge) : kInactive);
    node = child(node, edge);
  }
  return path;
}

Path Diagram::sample(Rng& rng) const {
  return descend([&](NodeId node) { return pick(graph_.nodes[node], rng); });
}

Path Diagram::sample_evenly(Rng& rng) const {
  std::vector<std::size_t> live;
  return descend([&](NodeId node) {
    live.clear();
    for (std::size_t edge = 0; edge < graph_.nodes[node].edges; ++edge) {
      if (child(node, edge) != DiagramGraph::kDead) live.push_back(edge);
    }
    return live[rng.below(live.size())];
  });
}

Path Diagram::at(std::uint64_t index) const {
  return descend([&](NodeId node) {
    std::size_t edge = 0;
    while (index >= graph_.nodes[child(node, edge)].count) index -= graph_.nodes[child(node, edge++)].count;
    return edge;
  });
}

bool Diagram::contains(const Path& genome) const {
  NodeId node = root_;
  for (std::size_t level = 0; level < levels_ && node != DiagramGraph::kDead; ++level) {
    const bool active = graph_.nodes[node].active;
    if (active != (genome[level] != kInactive)) return false;
    node = child(node, active ? static_cast<std::size_t>(genome[level]) : 0);
  }
  return node != DiagramGraph::kDead;
}

std::vector<Path> Diagram::matching(const Path& wish, std::size_t limit) const {
  std::vector<Path> found;
  Path prefix;
  if (root_ != DiagramGraph::kDead) match(root_, wish, prefix, limit, found);
  return found;
}

void Diagram::match(NodeId node, const Path& wish, Path& prefix, std::size_t limit, std::vector<Path>& found) const {
  if (found.size() >= limit) return;
  const std::size_t level = prefix.size();
  if (level == levels_) {
    found.push_back(prefix);
    return;
  }
  const Node& here = graph_.nodes[node];
  // Where both name an allele there is one edge to take.
  const bool named = here.active && wish[level] != kInactive;
  const std::size_t first = named ? static_cast<std::size_t>(wish[level]) : 0;
  const std::size_t end = named ? std::min<std::size_t>(first + 1, here.edges) : here.edges;
  for (std::size_t edge = first; edge < end; ++edge) {
    if (child(node, edge) == DiagramGraph::kDead) continue;
    prefix.push_back(here.active ? static_cast<int>(edge) : kInactive);
    match(child(node, edge), wish, prefix, limit, found);
    prefix.pop_back();
  }
}

std::optional<Path> Diagram::nearest(const Path& wish, const std::vector<bool>& kept, Rng& rng) const {
  // Most wishes are nearly legal: few nodes are within a small budget.
  for (const int budget : {0, 1, 2}) {
    if (auto path = nearest_within(wish, kept, budget, rng)) return path;
  }
  return nearest_within(wish, kept, static_cast<int>(levels_), rng);
}

namespace {

/// The paths that differ from a wish in the fewest genes, found by dynamic programming in three passes.
class NearestPaths {
 public:
  using NodeId = DiagramGraph::NodeId;
  using Node = DiagramGraph::Node;

  NearestPaths(const DiagramGraph& graph, std::size_t levels, const Path& wish, const std::vector<bool>& kept)
      : graph_(graph), levels_(levels), wish_(wish), kept_(kept), place_(graph.nodes.size()) {}

  /// Forwards, level by level: the nodes reached with at most `budget` differences. False: not one of the last level.
  bool reach(NodeId root, int budget) {
    reached_ = {{root, 0, kBarred}};
    begins_ = {0};
    for (std::size_t level = 0; level < levels_; ++level) {
      const std::size_t end = reached_.size();
      for (std::size_t i = begins_[level]; i < end; ++i) {
        const Node& node = graph_.nodes[reached_[i].node];
        for (std::size_t edge = 0; edge < node.edges; ++edge) {
          const NodeId to = graph_.edges[node.first_edge + edge];
          const int before = reached_[i].before + difference(node, edge, level);
          if (to == DiagramGraph::kDead || before > budget) continue;
          if (place_[to] == 0) {
            reached_.push_back({to, before, kBarred});
            place_[to] = static_cast<std::uint32_t>(reached_.size());
          } else {
            int& least = reached_[place_[to] - 1].before;
            least = std::min(least, before);
          }
        }
      }
      if (reached_.size() == end) return false;
      begins_.push_back(end);
    }
    return true;
  }

  /// Backwards: the least number of further differences, and the number of ways to have so few.
  void count() {
    reached_.back().after = 0;  // the end node is the only one of the last level
    reached_.back().ways = 1;
    for (std::size_t level = levels_; level-- > 0;) {
      for (std::size_t i = begins_[level]; i < begins_[level + 1]; ++i) {
        Reached& here = reached_[i];
        const Node& node = graph_.nodes[here.node];
        for (std::size_t edge = 0; edge < node.edges; ++edge) {
          const int after = to_come(node, edge, level);
          if (after >= kBarred || after > here.after) continue;
          if (after < here.after) here.ways = 0;
          here.after = after;
          here.ways += behind(node, edge).ways;
        }
      }
    }
  }

  /// Forwards: one of these ways.
  Path draw(Rng& rng) const {
    Path path(levels_);
    for (std::size_t level = 0, at = 0; level < levels_; ++level) {
      const Node& node = graph_.nodes[reached_[at].node];
      double drawn = rng.unit() * reached_[at].ways;
      std::size_t chosen = 0;
      for (std::size_t edge = 0; edge < node.edges && drawn >= 0; ++edge) {
        if (to_come(node, edge, level) != reached_[at].after) continue;
        chosen = edge;
        drawn -= behind(node, edge).ways;
      }
      path[level] = node.active ? static_cast<int>(chosen) : kInactive;
      at = place_[graph_.edges[node.first_edge + chosen]] - 1;
    }
    return path;
  }

 private:
  static constexpr int kBarred = 1 << 20;
  struct Reached {
    NodeId node;
    int before;       // differences so far
    int after;        // further differences
    double ways = 0;  // to have no more than these
  };

  int difference(const Node& node, std::size_t edge, std::size_t level) const {
    const bool differs = node.active && wish_[level] != kInactive && wish_[level] != static_cast<int>(edge);
    if (kept_[level] && (!node.active || differs)) return kBarred;
    return differs ? 1 : 0;
  }
  const Reached& behind(const Node& node, std::size_t edge) const {
    return reached_[place_[graph_.edges[node.first_edge + edge]] - 1];
  }
  int to_come(const Node& node, std::size_t edge, std::size_t level) const {
    const NodeId to = graph_.edges[node.first_edge + edge];
    return place_[to] == 0 ? kBarred : difference(node, edge, level) + reached_[place_[to] - 1].after;
  }

  const DiagramGraph& graph_;
  const std::size_t levels_;
  const Path& wish_;
  const std::vector<bool>& kept_;
  std::vector<std::uint32_t> place_;  // in `reached_`, plus one
  std::vector<Reached> reached_;
  std::vector<std::size_t> begins_;  // of each level
};

}  // namespace

std::optional<Path> Diagram::nearest_within(const Path& wish, const std::vector<bool>& kept, int budget,
                                            Rng& rng) const {
  if (root_ == DiagramGraph::kDead) return std::nullopt;
  NearestPaths paths(graph_, levels_, wish, kept);
  if (!paths.reach(root_, budget)) return std::nullopt;
  paths.count();
  return paths.draw(rng);
}

}  // namespace evo

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

// Dynamic programming in three passes. Forwards, level by level: the nodes reached with at most `budget` differences.
// Backwards: the least number of further differences, and the number of ways to have so few. Forwards: one of these
// ways, drawn at random.
std::optional<Path> Diagram::nearest_within(const Path& wish, const std::vector<bool>& kept, int budget,
                                            Rng& rng) const {
  struct Reached {
    NodeId node;
    int before;       // differences so far
    int after;        // further differences
    double ways = 0;  // to have no more than these
  };
  if (root_ == DiagramGraph::kDead) return std::nullopt;
  constexpr int kBarred = 1 << 20;
  const auto difference = [&](const Node& node, std::size_t edge, std::size_t level) {
    const bool differs = node.active && wish[level] != kInactive && wish[level] != static_cast<int>(edge);
    if (kept[level] && (!node.active || differs)) return kBarred;
    return differs ? 1 : 0;
  };
  std::vector<std::uint32_t> place(graph_.nodes.size());  // in `reached`, plus one
  std::vector<Reached> reached = {{root_, 0, kBarred}};
  std::vector<std::size_t> begins = {0};  // of each level
  for (std::size_t level = 0; level < levels_; ++level) {
    const std::size_t end = reached.size();
    for (std::size_t i = begins[level]; i < end; ++i) {
      const Node& node = graph_.nodes[reached[i].node];
      for (std::size_t edge = 0; edge < node.edges; ++edge) {
        const NodeId to = graph_.edges[node.first_edge + edge];
        const int before = reached[i].before + difference(node, edge, level);
        if (to == DiagramGraph::kDead || before > budget) continue;
        if (place[to] == 0) {
          reached.push_back({to, before, kBarred});
          place[to] = static_cast<std::uint32_t>(reached.size());
        } else {
          int& least = reached[place[to] - 1].before;
          least = std::min(least, before);
        }
      }
    }
    if (reached.size() == end) return std::nullopt;
    begins.push_back(end);
  }
  reached.back().after = 0;  // the end node is the only one of the last level
  reached.back().ways = 1;
  const auto to_come = [&](const Node& node, std::size_t edge, std::size_t level) {
    const NodeId to = graph_.edges[node.first_edge + edge];
    return place[to] == 0 ? kBarred : difference(node, edge, level) + reached[place[to] - 1].after;
  };
  for (std::size_t level = levels_; level-- > 0;) {
    for (std::size_t i = begins[level]; i < begins[level + 1]; ++i) {
      Reached& here = reached[i];
      const Node& node = graph_.nodes[here.node];
      for (std::size_t edge = 0; edge < node.edges; ++edge) {
        const int after = to_come(node, edge, level);
        if (after >= kBarred || after > here.after) continue;
        if (after < here.after) here.ways = 0;
        here.after = after;
        here.ways += reached[place[graph_.edges[node.first_edge + edge]] - 1].ways;
      }
    }
  }
  Path path(levels_);
  for (std::size_t level = 0, at = 0; level < levels_; ++level) {
    const Node& node = graph_.nodes[reached[at].node];
    double drawn = rng.unit() * reached[at].ways;
    std::size_t chosen = 0;
    for (std::size_t edge = 0; edge < node.edges && drawn >= 0; ++edge) {
      if (to_come(node, edge, level) != reached[at].after) continue;
      chosen = edge;
      drawn -= reached[place[graph_.edges[node.first_edge + edge]] - 1].ways;
    }
    path[level] = node.active ? static_cast<int>(chosen) : kInactive;
    at = place[graph_.edges[node.first_edge + chosen]] - 1;
  }
  return path;
}

}  // namespace evo
